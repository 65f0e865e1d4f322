import type { buildConnector } from 'undici';

/** Turns of the event loop in which a reset at accept shows, if the peer is near enough. */
const TURNS = 2;

/**
 * Holds a new connection back for two turns of the event loop, so that one which the peer resets as it accepts it counts as
 * never made: no request has gone out on it, and it is safe to try again.
 */
export function settledConnector(connector: buildConnector.connector): buildConnector.connector {
  // Returning the socket lets undici give up an attempt; its types do not say so.
  return (options, callback) =>
    connector(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      const look = (turnsLeft: number): void => {
        if (socket.destroyed || socket.errored || socket.readableEnded) callback(resetAtAccept(socket.errored), null);
        else if (turnsLeft > 0) setImmediate(look, turnsLeft - 1);
        else callback(null, socket);
      };
      look(TURNS);
    });
}

function resetAtAccept(error: Error | null): Error {
  if (error !== null) return error;
  return Object.assign(new Error('The connection was closed as soon as it was made'), { code: 'ECONNRESET' });
}
