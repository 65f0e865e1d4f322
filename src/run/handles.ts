import { CallsheetError, type CtxSecrets, type SecretHandle } from '../sdk/index.ts';
import { bearer, header, makeSecretHandle } from '../secrets/index.ts';
import type { AttemptContext } from './attempt-context.ts';

/** `ctx.secrets`: handles of the secrets that the play declares. */
export function secretsCapability(context: AttemptContext): CtxSecrets {
  const get = (name: string): SecretHandle => {
    if (!context.secrets.includes(name))
      throw new CallsheetError('SECRET_NOT_DECLARED', `The play asks for the secret ${name} but does not declare it.`, {
        details: { secret: name, declared: context.secrets },
        next: [`Add secrets: ['${name}'] to the play's options.`],
      });
    if (context.deps.readSecret(name) === undefined)
      throw new CallsheetError('SECRET_MISSING', `The secret ${name} is not set.`, {
        details: { secret: name },
        next: [`callsheet secrets set ${name}`],
      });
    return makeSecretHandle(name);
  };
  const handleOf = (secret: SecretHandle | string): SecretHandle => (typeof secret === 'string' ? get(secret) : secret);
  return {
    get,
    bearer: (secret) => bearer(handleOf(secret)),
    header: (name, secret) => header(name, handleOf(secret)),
  };
}
