export { parseDotenv } from './dotenv.ts';
export {
  bearer,
  findSecretHandle,
  header,
  isSecretHandle,
  makeSecretHandle,
  type ResolvedAuth,
  resolveAuth,
} from './handle.ts';
export { defaultKeyPath } from './key.ts';
export { checkSecretName, isSecretName } from './names.ts';
export { type ListedSecret, openSecrets, type SecretSource, type Secrets, type SecretsOptions } from './sources.ts';
