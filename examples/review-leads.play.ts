import { definePlay } from 'callsheet';

interface Lead {
  first_name: string;
  last_name: string;
  company: string;
  domain: string;
}

interface Decision {
  selected_option: string | null;
  final_text: string;
  timed_out: boolean;
}

/**
 * Asks a Slack channel about every lead and waits for up to two days, row by row. Set SLACK_BOT_TOKEN and
 * SLACK_SIGNING_SECRET, keep `callsheet slack` and `callsheet worker` running, and lead the app's Request URL to the former.
 */
export default definePlay('review-leads', async (ctx, input: { csv: string; channel: string }) => {
  const leads = await ctx.csv<Lead>(input.csv, { required: ['first_name', 'last_name', 'domain'] });
  const rows = await ctx
    .dataset('leads', leads)
    .withColumn('decision', async (row, ctx) => {
      const { data } = await ctx.tools.execute<Decision>({
        id: 'review',
        tool: 'slack_message_with_hitl',
        input: {
          channel: input.channel,
          text: `Write to ${row.first_name} ${row.last_name} of ${row.company}?`,
          buttons: [
            { id: 'write', label: 'Write', style: 'primary' },
            { id: 'skip', label: 'Skip', style: 'danger' },
          ],
          timeout: '2d',
          on_timeout_mode: 'null',
        },
      });
      return data.timed_out ? 'nobody answered' : data.selected_option;
    })
    .run({ key: ['first_name', 'last_name', 'domain'] });
  const written = rows.filter(async (row) => row.decision === 'write');
  return { leads: rows, toWrite: await written.count() };
});
