import { resolve } from 'node:path';
import { checkPlay, type PlayCheck } from '../play/index.ts';
import type { Workspace } from './open.ts';

/** Checks a play against the tools and secrets of this workspace. Throws what `checkPlay` throws. */
export function checkInWorkspace(
  workspace: Workspace,
  order: { readonly play: string; readonly cwd: string; readonly types?: boolean | undefined },
): Promise<PlayCheck> {
  const { catalogue, config, secrets, paths } = workspace;
  return checkPlay(resolve(order.cwd, order.play), {
    cacheDir: paths.modules,
    types: order.types,
    toolIds: catalogue.list().map((tool) => tool.id),
    providers: {
      configured: Object.keys(config.providers ?? {}),
      ofTools: catalogue.list().map((tool) => tool.provider),
    },
    // The sandbox takes any key, and fixtures none.
    toolSecrets: (id) =>
      catalogue.has(id) && catalogue.get(id).account.mode === 'live' ? catalogue.get(id).secrets : [],
    secretIsSet: (name) => secrets.read(name) !== undefined,
  });
}
