import { startSlackReceiver } from '../../workspace/index.ts';
import type { Invocation } from '../invocation.ts';
import { onStopSignals } from '../stop-signals.ts';
import type { Terminal } from '../terminal.ts';
import { withWorkspace } from '../with-workspace.ts';

export interface SlackFlags {
  readonly port?: number;
  readonly host?: string;
}

/** `slack`: takes what people press in Slack until it is stopped. */
export async function slack(call: Invocation<SlackFlags>): Promise<number> {
  const { terminal, flags } = call;
  return withWorkspace(call, async (workspace) => {
    const receiver = await startSlackReceiver(workspace, {
      port: flags.port ?? 0,
      host: flags.host,
      note: (message) => terminal.note(message),
    });
    if (terminal.json) await terminal.record({ url: receiver.url });
    else {
      await terminal.line(receiver.url);
      terminal.note('The Request URL of the Slack app (Interactivity & Shortcuts) has to lead there; Ctrl-C ends it.');
    }
    await untilStopped(terminal);
    await receiver.close();
    return 0;
  });
}

async function untilStopped(terminal: Terminal): Promise<void> {
  let unlisten = (): void => {};
  await new Promise<void>((resolve) => {
    unlisten = onStopSignals(terminal, { first: 'Stopping.', stop: resolve });
  });
  unlisten();
}
