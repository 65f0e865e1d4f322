import { CallsheetError } from '../sdk/index.ts';

const NAME = /^[A-Z][A-Z0-9_]{0,199}$/;

export function isSecretName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name);
}

/** Throws `SECRET_NAME_INVALID`. What was given is not repeated whole: people paste values in the place of names. */
export function checkSecretName(name: unknown): string {
  if (isSecretName(name)) return name;
  throw new CallsheetError(
    'SECRET_NAME_INVALID',
    'A secret name has capital letters, digits and underscores, and starts with a letter, such as HUNTER_API_KEY.',
    { next: ['Name the secret like that and try again.'] },
  );
}
