export {
  bearer,
  findSecretHandle,
  header,
  makeSecretHandle,
  type ResolvedAuth,
  resolveAuth,
} from './handle.ts';
export { type ListedSecret, openSecrets, type SecretSource, type Secrets, type SecretsOptions } from './sources.ts';
