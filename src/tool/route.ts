import type { Transport } from './port.ts';

/** Function tools run in this process, all others go out over HTTP. */
export function routeTransport({ http, fn }: { readonly http: Transport; readonly fn: Transport }): Transport {
  return {
    send: (operation) => (operation.tool.isFunction ? fn : http).send(operation),
    async close() {
      await Promise.all([http.close(), fn.close()]);
    },
  };
}
