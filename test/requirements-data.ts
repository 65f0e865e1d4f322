/**
 * What the design promises, one id and one sentence for each promise. Data only: `verifies` in requirements.ts names
 * these ids, `requirements.test.ts` fails for an id without a test, `docs/requirements.md` is generated from here.
 *
 * An id is never renamed or given another meaning. The part before the first dash is the group.
 */

/** Promises that this release keeps: each needs a test. */
export const REQUIREMENTS = {
  // 20-plays: definePlay, steps, results
  'PLAY-FORMS-1': 'definePlay takes (name, fn, options) and ({ id, run, … }) and makes the same handle of both.',
  'PLAY-NAME-1': 'A play name is trimmed, not empty and at most 200 characters of any script.',
  'PLAY-OPTIONS-1': 'An option that definePlay does not know is kept as a check warning, never silently dropped.',
  'PLAY-EXPORTS-1': 'A file may export several plays; #export picks one, and where none is named the error lists them.',
  'PLAY-MODULES-1':
    'A play, tool or config file may import from callsheet and from deepline, in any folder, without a node_modules.',
  'PLAY-BUNDLE-1':
    'A play with local and JSON imports is bundled offline into one artifact named by the hash of its code.',
  'PLAY-BUNDLE-2': 'The artifact hash does not depend on where the folder of the play lies.',
  'PLAY-BUNDLE-3': 'The sdk is never bundled: errors and brands of a play are those of the running release.',
  'PLAY-PINNED-1': 'A run executes the bytes of its artifact, whatever the play file says later.',
  'PLAY-SYNTAX-1': 'A syntax error in a play is reported with file and line.',
  'PLAY-INPUT-1':
    'The input is checked against the schema of the play before the run starts, and the error names the field.',
  'PLAY-INPUT-2': 'ctx.input is deeply frozen.',
  'PLAY-RESULT-1':
    'A play returns JSON with datasets in it as handles; anything else fails the run with the path of the value.',
  'PLAY-RESULT-2': 'Results are never truncated.',
  'PLAY-CHECK-1': 'check finds unknown tools (with the nearest names), missing secrets and a dataset used as an array.',
  'CHECK-PROVIDER-1':
    'check warns of a provider in the config that no tool has, with the nearest name: what is said of it has no effect.',
  'CHECK-COST-1':
    'What check says a row costs at most counts every call that the text shows, inline children too; where a loop or hidden code has no bound, it says which.',
  'PLAY-CHECK-2':
    'check warns of Date.now, Math.random, fs, bare fetch and process.env outside a step, and never refuses for them.',
  'STEPS-ORDER-1': 'Steps run in order, and each sees the row with the results of the steps before it.',
  'STEPS-SKIP-1': 'A step that runIf leaves out is null.',
  'STEPS-NEST-1': 'A nested steps program is a step; every step is a child column with its own provenance.',
  'STEPS-UNAVAILABLE-1':
    'continueOnProviderUnavailable passes over transient and exhausted provider failures and over nothing else.',
  'STEPS-DEFINE-1': 'A steps program with a bad name, a duplicate name or no return is refused when it is written.',
  'TYPES-WRONG-USE-1':
    'Wrong use of the sdk does not compile: dataset as array, sync map, unknown key field, a tool without effect.',

  // 20-plays: ctx
  'CTX-NOW-1': 'ctx.now is recorded and the same on every attempt.',
  'CTX-CHANCE-1':
    'ctx.random and ctx.uuid derive from seed, scope and key or counter, and are the same on every attempt.',
  'CTX-STEP-1': 'ctx.step runs its function once and gives its JSON result to every later attempt.',
  'CTX-STEP-2': 'With staleAfterSeconds or semanticKey, a step result is a receipt that later runs of the play reuse.',
  'CTX-STEP-3': 'A step result that is not JSON fails with the path of the value.',
  'CTX-RUNSTEPS-1': 'ctx.runSteps runs a steps program over one value.',
  'CTX-FETCH-1': 'ctx.fetch records its answer once: a later attempt sends nothing and sees the same answer.',
  'CTX-FETCH-2': 'A mutating ctx.fetch without an Idempotency-Key header is refused.',
  'CTX-FETCH-3': 'A status outside 2xx throws CtxFetchHttpError with status and body, unless throwOnError is false.',
  'CTX-FETCH-4': 'auth takes secret handles only and needs https, loopback excepted.',
  'CTX-FETCH-5': 'transient: true is never stored.',
  'CTX-LOG-1': 'ctx.log is a run event, with the row where it is called in one.',
  'CTX-CONSOLE-1': 'console.* in a play goes to the log of the run, never to stdout.',
  'CTX-EXECUTE-1':
    'ctx.tools.execute takes a request object, the old positional form, and force as the old name of refresh.',
  'CTX-NESTED-1': 'A dataset inside a row is refused with the way out in the message.',
  'CTX-LATER-1': 'A call that this release does not support is refused with that word, never half done.',

  // 20-plays: tools, results, errors
  'TOOL-DEFINE-1':
    'A tool without id, effect, input or exactly one of request and run is refused with what is missing.',
  'TOOL-PARTS-1': 'A batch or a job that cannot work is refused when it is defined, with the option that is wrong.',
  'TOOL-NAMES-1':
    'A name that nothing reads, in whatever part of a tool or of a provider in the config, is refused with the nearest one.',
  'TOOL-DEFAULTS-1': 'Provider, version, cost and limits of a tool have the defaults of the design.',
  'TOOL-CATALOGUE-1': 'Every exported tool of every file under tools/, and those of the config, are in the catalogue.',
  'TOOL-UNKNOWN-1': 'An unknown tool is refused with the nearest names.',
  'TOOL-INPUT-1': 'An input that does not fit names tool and field before anything is paid.',
  'TOOL-SCHEMAS-1': 'Standard Schema and JSON Schema are both accepted as input and output.',
  'TOOL-READING-1':
    'Without response: 2xx is completed, 204 and noResult statuses are no_result, an unlisted 404 is rejected.',
  'TOOL-BODY-1': 'A body that is neither string nor bytes is sent as JSON.',
  'TOOL-FUNCTION-1':
    'A function tool that returns null or undefined is no_result; a thrown error ends as endsAs says, else rejected for reads and ambiguous for writes.',
  'TOOL-EXTRACT-1':
    'What extract names can be read by values and by extractedValues.get, and is null where it is not found.',
  'RESULT-SHAPE-1': 'A result has status, data, values, execution and the accessors that hosted plays read.',
  'RESULT-NORESULT-1': 'no_result is an answer: paid, recorded and not an error.',
  'ERROR-UNAVAILABLE-1': 'isProviderUnavailable is true exactly for transient and exhausted provider failures.',
  'ERROR-FATAL-1': 'A run-fatal error ends the run whatever the play catches or returns, and no later call goes out.',
  'ERROR-CODES-1':
    'docs/errors.md lists every error code with its meaning, exit code and what to do, and is equal to the code.',
  'ERROR-NEXT-1': 'Every failed command names the place and the next step.',

  // 30-calls: identity
  'KEY-CANON-1': 'Two equal inputs have one key: key order, -0 and absent versus undefined never make a second.',
  'KEY-CANON-2': 'Two different inputs have two keys: strings are not trimmed and numbers not rounded.',
  'KEY-CANON-3': 'What is not plain JSON is refused with its path, never guessed.',
  'KEY-AUTH-1': 'A rotated secret of the same account buys nothing again.',
  'KEY-AUTH-2': 'Another account, base URL, the sandbox or a fixture shares no answers.',
  'KEY-REUSE-1': 'Two plays, or two runs, that ask the same question of a read share the answer.',
  'KEY-REUSE-2': "reuse narrows sharing to the play or run, and 'never' forbids it.",
  'KEY-VERSION-1': 'A new tool version asks again, unless reads lists the version of the receipt.',
  'KEY-CALL-1': 'Two identical calls in one row are two calls; the same call on a later attempt is one.',
  'KEY-CALL-2': 'The identity of a call does not depend on the order in which rows or peers happen to run.',
  'KEY-WRITE-1': 'A write is shared with no other call and no other run; the same write resumed is one.',
  'KEY-OPERATION-1':
    'The idempotency key of a shared read is that of the question in its run, of a write that of the call.',
  'KEY-OPERATION-2': 'The idempotency key changes after a definite refusal and stays after an ambiguous ending.',
  'KEY-UNAVAILABLE-1':
    'A keyed call that is answered 503 goes out again under its key and holds its credits, however long it waits; where it is answered nothing else, what it cost is unknown until it is tried again.',
  'KEY-UNSURE-1':
    'What may have been done under a key goes out under no other in its run, whatever it is refused for then, and after a death.',

  // 30-calls: where the answer comes from
  'CALL-JOURNAL-1':
    'A call that ended in an earlier attempt of the run returns the original result unchanged, execution included.',
  'CALL-JOURNAL-2': 'A failure that was delivered to the play is journalled: a later attempt sees it and pays nothing.',
  'CALL-RECEIPT-1': 'A question that a receipt answers is not bought again.',
  'CALL-STALE-1': 'staleAfterSeconds is measured at the recorded start of the run, the same for all rows and attempts.',
  'CALL-REFRESH-1': 'refresh and staleAfterSeconds: 0 buy a new answer, but never on a replay.',
  'CALL-REFRESH-2': 'A refresh adds a newer receipt and leaves the older ones as they are.',
  'CALL-COALESCE-1': 'The same question asked many times at once is one paid operation.',
  'CALL-COALESCE-2':
    'When the leader of a question ends without an answer that others may take, the oldest follower leads.',
  'CALL-DURABLE-1': 'The receipt is on disk before the author sees the answer.',
  'CALL-GROUPED-1': 'Reads of receipts are grouped over all calls of a turn and bounded in bytes.',
  'CALL-RAW-1':
    'The raw answer is stored before any code of the tool sees it: a mended extract or response gets right cells and buys nothing.',
  'CALL-CONTRACT-1':
    'Tool code that throws or returns a wrong shape ends in ToolContractError, and the paid answer is kept.',
  'CALL-CONTRACT-2':
    'After a contract error further calls of that tool in the run are held, unless continueOnContractError.',
  'CALL-CONTRACT-3':
    'Where a run goes on after a contract error, the answer costs what its tool says, if as much of it can be read; else it is unknown until it can.',
  'CALL-OUTPUT-1': 'An output that does not fit is a warning with the path; with strict it is a contract error.',
  'CALL-PENDING-1': 'An answer that reads as pending is kept but never reused.',
  'CALL-STALE-ATTEMPT-1': 'A paid answer that arrives for a stale attempt is kept; its rows and journal are not.',

  // 30-calls: delivery
  'DELIVER-ENDING-1':
    'Every status ends as the table of the design says: answered, rejected, deferred, inProgress or ambiguous.',
  'DELIVER-NOT-SENT-1': 'DNS, refused, TLS and reset-at-accept failures end as notDispatched.',
  'DELIVER-AMBIGUOUS-1': 'A time-out or reset after dispatch and a truncated body end as ambiguous.',
  'DELIVER-CLASSIFY-1': 'classify of a tool overrides the ending of a status.',
  'DELIVER-REDIRECT-1': 'A redirect is not followed: it is rejected.',
  'DELIVER-LARGE-1': 'A 30 MB answer, a non-JSON answer and an empty answer each end with a result or a clear error.',
  'DELIVER-ERRORS-1':
    'Each refusal of a provider (401, 402, 403, 404, 422, 429, 500, time-out, reset) has a code of its own.',
  'RETRY-SAFE-1':
    'deferred and notDispatched are tried again, bounded, and never before the time that the provider named.',
  'RETRY-REJECTED-1': 'rejected is never tried again.',
  'RETRY-WRITE-1': 'An ambiguous write without an idempotency key is never sent again: it ends in doubt.',
  'RETRY-PROGRESS-1': 'inProgress waits and asks again under the same key, and is not another try.',

  // 30-calls: delivery that knows what it does not know
  'INTENT-1': 'An intent is durable before a write without provider idempotency goes out, and is never sent twice.',
  'INTENT-UNSENT-1':
    'A write whose intent is durable and whose request never went out, since its run was stopped, is in no doubt.',
  'INTENT-SITE-1':
    'On a resume, a write whose place is recorded or intended with another input ends the run and is not sent.',
  'INTENT-SITE-2':
    'Branches that write at once may ask in another order on a resume without being taken for other writes.',
  'INTENT-RECONCILE-1':
    'reconcile of a tool decides on an intent without outcome; what it cannot tell, or fails to, stays in doubt.',
  'INTENT-RESOLVE-1': 'runs resolve settles what is in doubt, and reruns inherit what is not resolved.',
  'DOUBT-LOOP-1':
    'While a write is in doubt no equal one goes out from its row, or from the run outside rows, whatever its label.',
  'DOUBT-LABEL-1':
    'A write in doubt that a resumed play does not ask for again keeps other writes of its tool from going out there.',
  'DOUBT-LISTED-1':
    'An operation in doubt names the command that settles it, and runs errors lists it until it is settled.',
  'RETRY-CURSOR-1': 'Tries and waits of a call are durable, and a resume goes on counting.',
  'RETRY-CURSOR-2': 'A retry cursor is given to one call only, and a call that is answered at once writes none.',
  'RETRY-BUDGET-1': 'Retries draw on a run-wide budget of 20% of calls, at least 25.',
  'RETRY-BUDGET-2':
    'What a provider refuses for now draws on the tries of its call alone: while a limit is learnt no row fails for what others were refused.',
  'RETRY-SECRET-1': 'A 401 or 403 reads the source of the secret again once and tries again if it changed.',
  'RESCUE-1': 'A paid answer that the store cannot take goes to the rescue file and is imported at the next start.',
  'RESCUE-2':
    'Where the rescue file cannot take an answer, another file, the temporary folder or standard error does, in this order.',
  'RESCUE-IMPORT-1':
    'Rescued answers are imported by one process at a time, once each, and stay where they are until the store takes them.',

  // 40-datasets
  'DATA-ORDER-1': 'One admitted row in, one row out, in input order, whatever finishes first.',
  'DATA-SOURCES-1': 'Arrays, iterables, async iterables, datasets and files are all sources.',
  'DATA-HANDLE-1': 'count, first, at, peek, materialize, for await, filter and map read from the store.',
  'DATA-ARRAY-1': 'Using a dataset as an array fails with a message that shows the right call.',
  'DATA-ADMIT-1':
    'The source is read once and whole before the first call; later attempts use the frame, whatever the source says now.',
  'DATA-ADMIT-2':
    'A replay with another dataset key or other columns fails with the first difference before anything is paid.',
  'DATA-RANGE-1': 'Processing works on a range of the frame and needs no row outside it.',
  'DATA-KEY-1':
    'A key is a field, a list of fields or a function; without one it is the content with its occurrence number.',
  'DATA-KEY-2': 'Null, empty and non-scalar keys are refused with the row numbers.',
  'DATA-KEY-3':
    'Of rows with one key the first runs; later ones are skipped, counted, and take over its derived columns in the export.',
  'DATA-KEY-4': 'A key function that gives another value on its second call is refused.',
  'DATA-KEY-5': 'Two keys whose 64-bit digests meet are still two rows.',
  'DATA-COLUMN-1': 'Columns run in order, and a later one sees the earlier ones.',
  'DATA-COLUMN-2': 'A column that would hide an input column is refused unless replace is set.',
  'DATA-COLUMN-3': 'runIf false gives null, and an undefined result is null.',
  'DATA-COLUMN-4': 'previousCell is the value of the last run of this play over this dataset, or undefined.',
  'DATA-ERROR-1':
    'A resolver that throws fails its row only: earlier cells stay, the error has code and column, the others go on.',
  'DATA-ERROR-2': 'onRowError fail commits what is finished and then ends the run.',
  'DATA-PURE-1': 'A dataset whose resolvers call nothing of ours awaits nothing per cell and writes no journal.',
  'DATA-PROVENANCE-1':
    'Every cell knows which leg answered, which were tried and why not, source, credits, time, receipt and code version.',
  'DATA-POOL-1': 'A slow row never blocks the start of the next, and at most concurrency rows are in flight.',
  'DATA-POOL-2': 'A row goes on as soon as its own receipt is on disk; it never waits for the calls of its neighbours.',
  'DATA-MEMORY-1': 'Memory is bounded by the pool and by bytes, not by the number of rows.',
  'DATA-NETNEW-1':
    'net_new admits no key that another run of the play has finished or claimed, and failure or cancel releases claims.',
  'DATA-NETNEW-2':
    'A run that fails or is cancelled frees the keys that it claimed, but for those of rows that it finished.',
  'DATA-VERSION-1': 'A later run never changes what an earlier one exports.',
  'DATA-PROGRESS-1': 'At any moment total = queued + active + waiting + completed + failed + skipped.',
  'DATA-PROGRESS-2': 'Counters come from what was recorded; started counts the rows of earlier attempts too.',

  // 50-runs
  'RUN-STATES-1': 'A run is queued, running, waiting, completed, failed or cancelled, and the store alone says which.',
  'RUN-COMPLETED-1': 'completed means that every row and receipt is on disk and exportable.',
  'RUN-RESUME-1': 'A killed run goes on to the same output bytes, and no recorded call is done again.',
  'RUN-RESUME-2': 'A resume executes the artifact of the start, also when the file was edited or deleted.',
  'RUN-FENCE-1': 'Journal, boundaries, frames and rows of a stale attempt are refused with StaleAttemptError.',
  'RUN-LEASE-1':
    'A run that another live process works on is not taken over; one whose process is provably gone is taken at once.',
  'RUN-LAPSE-1':
    'An attempt whose lease ran out by time alone does not fail its run, which goes on as the next attempt or is left to whoever takes it up.',
  'RUN-INTERRUPT-1': 'Ctrl-C stops admitting, records the calls in flight and exits 130 with the command that resumes.',
  'RUN-BOUNDARY-1': 'A boundary kind that this release does not know is an error, never skipped.',
  'RUN-UNAWAITED-1': 'Calls that the play did not await are awaited and recorded before the run ends.',
  'RUN-CANCEL-1': 'A cancelled run makes no new call, records those in flight and keeps finished rows.',
  'RUN-TOOL-CHANGED-1': 'A resume warns of a tool whose definition changed under one version.',

  // 60-governor
  'PACE-WINDOW-1': 'No sliding window ever holds more dispatches than declared, with several windows at once.',
  'PACE-SENT-1':
    'A request that its process sends later than it was let go, held up in between, counts from then on, for other processes too.',
  'PACE-USE-1': 'Under a backlog at least 98% of a declared rate is used.',
  'PACE-STARVE-1': 'Nobody who waits for a slot starves.',
  'PACE-CONCURRENCY-1': 'No more requests are in flight than the declared concurrency.',
  'PACE-COLD-1': 'The first burst of an account counts from its answers: its requests make their connections first.',
  'PACE-PARK-1':
    'A row whose provider takes no call for more than 30 s is parked, and goes on within the attempt at that instant.',
  'PACE-PARK-2':
    'A call that was put off is not asked before its instant by a later attempt, and leaves no wait behind.',
  'PACE-PARK-3': 'A provider that asks for a long wait parks the row; the tries of its call are counted on.',
  'JOB-ENDED-1':
    'A job that a run had started when it died costs it nothing where another run has ended that very job, and settled it.',
  'JOB-SHARED-1':
    'A provider job that several runs poll is settled by the one that records its end first, and costs the others nothing.',
  'JOB-KEY-1': 'What starts a job carries the idempotency key; its polls, each a request of its own, carry none.',
  'DOUBT-RERUN-1': 'A doubt cannot be said to be not done once a rerun has made the write.',
  'JOB-POLL-1': 'A provider job is started once for a question, polled until it is done, and settled once.',
  'JOB-HANDLE-1':
    'The handle of a provider job is durable at once, and a resume polls instead of starting a second job.',
  'JOB-HANDLE-2': 'A job whose handle the tool cannot read is kept, and polled once the tool is mended.',
  'JOB-PARK-1': 'A job that is polled rarely parks its row between two polls, whatever its effect.',
  'JOB-END-1': 'A job that is not done in time fails its call, and a later try asks for the same job.',
  'JOB-END-2':
    'A refusal to tell of a job says nothing of the job: what it may cost stays unknown, and a later try asks for the same job.',
  'JOB-END-3':
    'A job that its provider knows no more (404, 410) may have been charged; a later try starts another, of a write none.',
  'JOB-BUDGET-1':
    'Jobs that are open hold what they may cost: the budget is spent to the last credit and never beyond, over crashes and runs.',
  'JOB-BUDGET-2': 'A job that nobody can ask about any more holds nobody up: what it may cost counts as spent.',
  'BUDGET-OWED-1':
    'What a dead attempt has bought and not settled counts before anything else is bought, and holds nobody up for ever.',
  'JOB-CALLER-1': "With wait: 'caller' a job is only started, and the caller gets its handle as job_id.",
  'PACE-ACCOUNT-1': 'Limits belong to the provider account: all its tools and rows share them.',
  'PACE-FAIR-1': 'A huge run cannot starve a small one.',
  'PACE-ADAPTIVE-1': 'Where no concurrency is declared it adapts.',
  'PACE-GATE-1':
    'A deferred answer closes the gate of the account until the time that the provider named, in every header spelling.',
  'PACE-GATE-2':
    'A time that a provider has named closes the account for every process on the workspace, and each opens it with the same ramp.',
  'PACE-GATE-3':
    'A kill and a restart forget no time that a provider has named, and none is kept for more than an hour.',
  'PACE-SHARED-1': 'Two processes on one workspace keep one declared limit together.',
  'PACE-SHARED-2':
    'Processes on one workspace keep a declared concurrency together, equal shares of it each, and all of it where one is alone or killed.',
  'PACE-KILL-1':
    'What a killed process had in flight counts of the declared concurrency until its provider may have ended it, and no longer.',
  'PACE-LONG-1':
    'A quota of longer than a minute is used to the last call: by one process, several at once, and one after another.',
  'PACE-LONG-2': 'A kill takes at most what goes in 100 ms, and a thousandth, of a quota of longer than a minute.',
  'PACE-ADAPTIVE-2':
    'Where no concurrency is declared a declared rate is used after a few rounds of answers, however slow they are.',
  'PACE-SHOWN-1':
    'The pace of an account is shown with each declared limit in its own window, and one that was learnt as slowed.',
  'PACE-EXHAUSTED-1': 'A wait beyond the maximum fails at once with ProviderExhaustedError and retryAt.',
  'WRITE-LOOP-1':
    'A keyed write that may have been done and that its play asks for again goes out under the same key, until it is answered.',
  'CALL-UNSENT-1': 'A call that was refused before anything went out counts as not sent, never as a live one.',
  'PACE-EXHAUSTED-4':
    'A step with continueOnProviderUnavailable does not wait for an account that has refused the single call, too, which came when it had opened.',
  'PACE-EXHAUSTED-2':
    'A provider that has refused every call for as long as providerMaxWait, naming no time, counts as exhausted until it takes one.',
  'PACE-EXHAUSTED-3':
    'That a provider asked for a wait is said only where it did; else for how long it has refused all.',
  'PACE-LEARN-1':
    'A limit that is declared too wide, or not at all, is learnt from its refusals, and used to about 90% with few more of them.',
  'PACE-LEARN-2':
    'The time that a provider names is kept; it is stretched only while single calls that came back then are refused.',
  'PACE-LEARN-3': 'A learnt limit that the provider has raised is found again.',
  'PACE-LEARN-4': 'Refusals that are not about the rate slow nothing down but for the time that each asks for.',
  'BREAKER-PROVIDER-1': 'A failing provider is tried at a trickle; who can ask another one meanwhile does so at once.',
  'BREAKER-PROVIDER-2':
    'In an outage a call that no other provider can answer waits, unless its own tries are used up, or nobody was answered for providerMaxWait.',
  'BREAKER-PROVIDER-3':
    'A provider that the workspace has reached and does no more fails as one that answers with errors; one that nobody ever reached is not waited for.',
  'RETRY-OUTAGE-2':
    'A row of a run with few calls at a time is not given up while its provider answers nobody: it steps aside once after its last try, for ten seconds.',
  'BREAKER-ASIDE-1':
    'Rows that fail by their own fault, more than are in flight, look like an outage only until those behind them are tried: they step aside.',
  'BREAKER-PROVIDER-4':
    'Calls that fail by their own fault, again and again while others are answered, are no outage: at the end of a run nobody waits for them.',
  'RETRY-OUTAGE-1':
    'While a provider that worked before fails several calls in a row, none is given up within a minute of its first failure, however often it was tried.',
  'RETRY-BUDGET-3':
    'While a provider is out its calls draw on no retries of the run, and those that showed it are given back: no row fails for what others were out.',
  'BUDGET-TREE-1': 'A run draws on its own budget and on every one around it: that of its root and that of the day.',
  'BUDGET-TREE-2': 'Whichever run of a tree is resumed with more credits raises the limit of the tree.',
  'PACE-GAP-1':
    'A burst is spread a little, so that its last call is not late each time by what the whole burst takes.',
  'PACE-SHARED-3':
    'A process that has its share of a limit gets the next slot in the moment in which its own leave the window.',
  'PACE-RESTART-1': 'A kill and a restart forget nothing of what was used of a limit, the shortest window included.',
  'PACE-LOST-1':
    'What may be missing of the shared limits, after a stop of the machine or in a damaged file, counts as used; it never stops a run.',
  'BUDGET-DAY-1':
    'creditsPerDay is what all runs and processes of a workspace spend in one UTC day: all of it, and not a credit more.',
  'BUDGET-SHARED-1': 'Processes that work on runs of one tree draw on one limit, that of its root.',
  'BUDGET-UNKNOWN-1':
    'What a write in doubt may have cost is unknown until somebody says that it was not done, or its run has gone on after a word that it was.',
  'RERUN-DOUBT-CREDITS-1': 'What a write in doubt has cost is settled by the run that sent it, and by no rerun of it.',
  'BUDGET-LOST-1':
    'What a call whose answer was lost may have cost counts as spent, unless it is sent again under its key, and is shown as unknown.',
  'BUDGET-LOST-2':
    'What calls have lost under their keys is held for them once they are tried again, by all limits that it was taken from.',
  'BUDGET-SETTLED-1':
    'A credit is settled when its record is durable, by all limits at once: a kill in between counts nothing twice.',
  'BUDGET-LEFT-1':
    'What was out when its process died is shown as unknown, until it has gone out again under its key; without one it stays so.',
  'BUDGET-LEFT-2':
    'What was out when its process died is held for the very call under its key, else spent: by the run, its tree and the day.',
  'BUDGET-FAMILY-1':
    'What runs of a family have done under one operation key is settled by the one that is answered first, and costs the others nothing.',
  'BUDGET-FAMILY-2':
    'A rerun asks a read that its source has begun under a key of its own, so that each settles what it is charged.',
  'BUDGET-LEFT-4':
    'What is held for a call is handed over to what goes out under the very key that it was lost under; beside any other it stays spent.',
  'BUDGET-LEFT-3':
    'A paid call is put on record in the turn in which it has its slot; it waits neither for a later one nor for the lock of another process.',
  'BUDGET-RESERVE-1': 'A call reserves its highest cost before it goes out and settles at the real one.',
  'BUDGET-LIMIT-1':
    'A run never settles more than maxCreditsPerRun; a call that would fit but for open reservations waits.',
  'BUDGET-OUT-2':
    'What is kept of a run that is out of credits says how its figures stood then, with what was still out.',
  'BUDGET-MICRO-1':
    'Credits are compared, kept and added up as whole millionths: a price of 7 * 0.1 fits a max of 0.7 and is kept as 0.7.',
  'BUDGET-ABOVE-MAX-1':
    'An answer that costs more than its declared max counts at its own price in what is shown as unknown, and in what is charged.',
  'BUDGET-OUT-1': 'Out of credits is run-fatal, loses nothing finished, and is never a miss.',

  // 10-architecture: store
  'STORE-ATOMIC-1': 'What is committed together is stored together or not at all.',
  'STORE-GROUP-1':
    'Writes of one turn are one group; a failed group is retried member by member, so that a bad write rejects only itself.',
  'STORE-POINTER-1': 'A pointer shares the fate of its receipt.',
  'STORE-FENCE-1': 'State is fenced by run and attempt; facts are accepted from any attempt.',
  'STORE-CONFORM-1': 'Every store adapter passes the same conformance suite.',
  'STORE-MIGRATE-1': 'Migrations are numbered, checked by checksum and applied in a transaction at open.',
  'STORE-NEWER-1': 'A database of a newer release is refused with both versions named.',
  'STORE-HELD-1':
    'A database that another process holds makes us wait and then say STORE_HELD, without freezing the event loop.',
  'STORE-READONLY-1': 'A read-only database, a full disk and a damaged file each have their own code.',
  'STORE-BREAKER-1': 'A paid answer that cannot be stored stops all further provider calls of the process.',
  'STORE-MODE-1': 'Files of the workspace are made with user-only permissions.',

  // 50-runs: what the store keeps of waits, signals, operations and reruns
  'STORE-WAITS-1': 'A wait is armed once under its key: its number, policy and deadline stand, or nothing of it does.',
  'STORE-WAITS-2':
    'Answer against time-out is one transition of the store, by the policy that was saved: the first wins.',
  'STORE-SIGNALS-1': 'A signal answers the first wait of its run, row and event, and survives reopening.',
  'STORE-SIGNALS-2': 'A signal that comes before its wait is kept, and answers exactly one.',
  'STORE-SIGNALS-3': 'A signal that several rows or runs, or nothing, could take is refused with the reason.',
  'STORE-SIGNALS-4':
    'A second early signal of a run, event and row is refused while the first is not taken, unless it is to be kept.',
  'STORE-WAKE-1': 'A waiting run is due as soon as a wait of it is answered, also while its attempt was ending.',
  'STORE-DUE-1':
    'Due are queued runs whose time has come, woken or cancelled waiting ones, and those of dead processes.',
  'STORE-OPERATIONS-1': 'Intents and retry cursors are durable by row and call.',
  'STORE-OPERATIONS-2': 'An operation is in doubt until its call has an answer in the journal.',
  'STORE-OPERATIONS-3':
    'What somebody resolved as done is never written over; what was not done may be done again later.',
  'STORE-COPY-1': 'A rerun begins with the frames, sources and finished rows of its source, all or none.',
  'STORE-COPY-2': 'A rerun inherits what is in doubt in its source.',
  'STORE-COPY-3': 'The reruns of a run, and reruns of those, are found from it.',
  'STORE-OPERATIONS-5':
    'An operation is kept only where its call stands in the family as its run knew; who was overtaken is told, and writes nothing.',
  'STORE-OPERATIONS-6':
    'A call that another run of the family has paid for under the operation key of this one costs nothing here.',
  'STORE-OPERATIONS-4':
    'How a call stands in other runs can be asked, told apart from what they only inherited; and all writes of a run with how they ended.',

  // 50-runs: rerun, changed code, pinned code
  'RERUN-EXACT-1':
    'A rerun reuses the exact receipts of its source run, whatever their age, and though newer ones exist.',
  'RERUN-EXACT-2':
    'An answer of the source run serves only where tool version and account fit; where they do not it is told once and the call goes the normal way.',
  'RERUN-FAILED-1': 'rerun --failed does failed and unfinished rows again, and keeps what all others have.',
  'RERUN-SELECT-1': 'rerun takes --failed, --empty, --rows, --column, --refresh and --code.',
  'RERUN-COLUMN-1':
    'rerun --column evaluates the column and those after it; the cells before it are those of the source run.',
  'RERUN-REFRESH-1':
    'rerun --refresh buys reads anew, and does a write again only where its tool is named and somebody confirmed it.',
  'RERUN-DOUBT-1':
    'A write that is in doubt in the source run stays in doubt in a rerun until it is resolved, and is not sent.',
  'RERUN-WRITE-1': 'A write that the source run has sent is never sent again by a rerun that was not asked to.',
  'RERUN-WRITE-2':
    'What one run of a family of reruns has sent, or may have, is not sent by another of them: its row fails and names that run.',
  'RERUN-WRITE-4':
    'Of the runs of a family that send the same write in one moment one does, and keyed ones all under one key.',
  'RERUN-WRITE-5':
    'The runs that a run and its reruns start under one key are of one family, whichever starts its own first.',
  'RERUN-WRITE-3': 'A write in doubt cannot be said to be not done where any other rerun of the family has made it.',
  'RERUN-CHAIN-1':
    'A rerun of a rerun finds what any run before it was answered, and a resumed rerun goes on as a rerun.',
  'RERUN-STARTED-1':
    'A rerun says, before it asks, which runs it starts again, and that with --refresh these buy anew whatever rows are chosen; what they may cost is in what it asks about.',
  'RERUN-CHILD-1': 'A child of a rerun is a rerun of the child of its source.',
  'CODE-RESUME-1': 'Under changed code recorded calls that still exist are used, and finished rows stay.',
  'CODE-COLUMNS-1':
    'Where changed code gives a dataset other columns, its rows run again and are answered by what is recorded.',
  'CODE-WRITE-1':
    'Under changed code a write that was made for the same row is not sent again from another place or in another form without --resend.',
  'CODE-WRITE-3':
    'A write that changed code has moved between a run and those that it starts, or between those, is not sent again; equal ones of other such runs are.',
  'CODE-WRITE-2':
    'Under changed code a write is not sent again where it has moved: into another dataset, a child play, out of the rows or into them.',
  'CODE-REFUSED-1': 'Code of another play, or that keys a dataset otherwise, is refused for a run that has begun.',
  'PINNED-CODE-1': 'A resume runs the bytes of the start, also when the play file is edited, moved or deleted.',
  'PINNED-EDITION-1': 'A run whose contract edition this release does not know is refused.',
  'PINNED-BOUNDARY-1': 'A record of a kind that this release does not know ends the run instead of being skipped.',

  // 70-interfaces: files
  'FILE-ENCODING-1': 'UTF-8 with and without BOM, UTF-16 and Windows-1252 are told apart, read right and reported.',
  'FILE-DELIMITER-1': 'Comma, semicolon, tab, pipe and a sep= line are recognised.',
  'FILE-QUOTES-1': 'Quotes, escapes, line breaks inside fields and CRLF lose nothing.',
  'FILE-RAGGED-1': 'Ragged rows are kept and reported with line numbers.',
  'FILE-HEADERS-1': 'Duplicate and empty headers are named apart and reported.',
  'FILE-EMPTY-1': 'A missing, an empty and a header-only file each say what they are.',
  'FILE-VALUES-1': 'Values stay strings: no lost leading zeros, no dates invented.',
  'FILE-ODD-1': 'NUL bytes and fields of megabytes are read or refused with the line, never lost.',
  'FILE-COLUMNS-1':
    'columns and rename map headers; case, space and underscore differences are forgiven when one header fits.',
  'FILE-REQUIRED-1': 'A missing required column fails before the first paid call and lists what was found.',
  'FILE-JSONL-1': 'JSONL and JSON arrays are read, and a bad line is named.',
  'FILE-STAGED-1': 'A file is staged by digest: later attempts read the copy, whatever became of the file.',
  'FILE-OUT-1':
    'An output has the own columns of the user in their order and spelling, then the derived ones, objects as JSON.',
  'FILE-OUT-2': 'A CSV that is written and read again has the same values.',
  'FILE-OUT-3': '--excel writes a BOM, makes cells that a spreadsheet would execute inert, and reports them.',
  'FILE-OUT-4':
    'An output is written beside its place and renamed, never over an input; an interrupted export leaves nothing half.',

  // 70-interfaces: command line
  'CLI-INIT-1': 'init writes a workspace that runs, never overwrites a file, and prints commands that work.',
  'CLI-WORKSPACE-1': 'The workspace is the nearest folder upwards, or what --workspace or CALLSHEET_WORKSPACE says.',
  'CLI-CONFIG-1': 'A config that does not fit its schema is refused with the path of the error.',
  'CLI-STDOUT-1': 'Data goes to stdout and everything else to stderr; with --json stdout is one JSON document.',
  'CLI-JSON-1': 'The JSON of run, runs list, runs show, plan and why has the shapes of the design, and is pinned.',
  'CLI-EXIT-1': 'The exit codes are those of the design.',
  'CLI-ENDED-1': 'A play, a tool or a library that ends the process makes the command fail, and its run goes on later.',
  'CLI-ERROR-JSON-1': 'A failed command with --json prints error with code, message, details and next.',
  'CLI-HELP-1': 'Every command has help with examples.',
  'CLI-CONFIRM-1':
    'A run that may cost more than confirmAbove asks in a terminal, and elsewhere needs --yes or --max-credits.',
  'CLI-PLAN-1': 'plan buys nothing and counts new calls, receipts, skips and blocks by column and leg.',
  'CLI-WHY-1': 'why shows for a row where each value came from, or why there is none.',
  'WHY-OUTSIDE-1':
    'why without --row shows every call of a run that is in no cell, in pages: place, tool, outcome, source, receipt, credits, time, error.',
  'CLI-ERRORS-1':
    'runs errors groups failed rows by code and message, with counts, samples and the command that mends each group.',
  'CLI-EXPORT-1':
    'A finished or interrupted run can be exported as CSV or JSONL, all rows or completed or failed ones.',
  'CLI-IMPORT-1': 'A run prints its import report first: encoding, delimiter, renamed headers, ragged rows, keys.',
  'CLI-SECOND-RUN-1':
    'A second run of the same play over the same file buys nothing, says so, and writes the same bytes.',
  'CLI-RECEIPTS-1':
    'receipts list, show and evict work; evicting ends reuse, and the bytes stay while a run points at them.',
  'CLI-TOOLS-1': 'tools list, describe and call work; call leaves a receipt like any other.',
  'CLI-LAST-1':
    "Wherever a command takes a run, 'last' is the newest that somebody started, never one that a run has started.",
  'CLI-LIMIT-1': '--limit takes the first n rows of every file.',
  'CLI-NODE-1': 'An older Node.js gets one line with the way out.',
  'CLI-OUTPUT-1': 'An output path equal to the input, or in a missing folder, is refused before anything is paid.',

  // 80-quality: security; sandbox
  'SECRET-HANDLE-1':
    'A secret handle that reaches an input, a result, a log or JSON.stringify is a SecretLeakError that names the place.',
  'SECRET-GREP-1':
    'No value of a secret is in the database, logs, exports, errors or --json output, also when a provider echoes it.',
  'SECRET-SOURCES-1':
    'Secrets come from the environment, .env or the encrypted file, and a missing one is named with the command that sets it.',
  'SECRET-STORE-1': 'The encrypted file cannot be read with another key, and secrets commands never print a value.',
  'SECRET-DECLARED-1': 'A tool or play reads only the secrets that it declares.',
  'SANDBOX-SEED-1': 'The sandbox answers by seed and input: the same question has the same answer.',
  'SANDBOX-LIMITS-1': 'The sandbox enforces its limits with 429 and Retry-After in each spelling.',
  'SANDBOX-IDEMPOTENCY-1': 'The sandbox honours Idempotency-Key and charges once.',
  'SANDBOX-FAULTS-1': 'The sandbox can be slow, fail, reset before or after the work, and answer rubbish, when told.',
  'SANDBOX-LEDGER-1': 'The ledger lists what the sandbox did and charged.',
  'SANDBOX-LOOPBACK-1': 'What listens does so on loopback and checks Host.',

  // 50-runs: suspension and events
  'SUSPEND-NEVER-THROWN-1': 'A suspension is never thrown: no catch, finally, allSettled, race or retry loop sees it.',
  'SUSPEND-OUTCOME-1':
    'An attempt all of which waits ends suspended: the run is waiting, until an instant or for events.',
  'SUSPEND-SLEEP-1': 'ctx.sleep is a durable timer: its instant is fixed when it is armed.',
  'SUSPEND-PLACE-1': 'A wait that is over within two seconds is waited out in place.',
  'SUSPEND-FLIGHT-1': 'Calls in flight at a suspension are recorded, and none starts after it.',
  'SUSPEND-RACE-1': 'All waits that are reached before the attempt ends are armed; the first that is over wins a race.',
  'SUSPEND-RACE-2': 'Code that may go on past an open wait does so in the next attempt, which comes at once.',
  'SUSPEND-FATAL-1': 'A run-fatal error stands over every wait; a wait that is asked wrongly is refused.',
  'SUSPEND-WAKE-1': 'An answer that comes while an attempt ends wakes the run at once.',
  'SUSPEND-STEP-1': 'Nothing around a suspension is recorded: a step with a wait in it runs again.',
  'SUSPEND-ROW-1': 'Inside a dataset a suspension parks that row only.',
  'SUSPEND-READMIT-1': 'A parked row whose wait is over while the attempt runs is admitted again in it.',
  'SUSPEND-MAXPARKED-1': 'No further row starts while maxParked rows are parked.',
  'SUSPEND-SNAPSHOT-1': 'A resume admits the same rows from the frame, whatever the source says now.',
  'SUSPEND-CRASH-1': 'A kill before a row is parked loses no answer and buys nothing again.',
  'SUSPEND-DATASET-1': 'A wait, or a dataset that is parked, holds up no other dataset that has begun.',
  'SUSPEND-STILL-1': 'A parked row that waits for nothing that has happened is not run again by the next attempt.',
  'EVENT-DELIVERY-1':
    'A signal is durable before it is acknowledged; early, late, double and wrong ones are each handled.',
  'EVENT-TOOL-1': 'An event tool sends once, waits, and gives the answer as any call gives its own.',
  'EVENT-TOOL-PROVED-1':
    'A question in doubt whose answer came was asked: it is settled at its price, and in doubt no longer.',
  'EVENT-TOOL-ONCE-1': 'Wherever its process dies, an event tool never sends twice, and an answer reaches its wait.',
  'EVENT-TOOL-ROWS-1': 'Every row and every equal call of an event tool gets its own answer, in any order.',
  'EVENT-TOOL-TIMEOUT-1':
    'The finaliser of an event tool is done before its time-out counts; until then the wait stays open.',
  'EVENT-TOOL-POLICY-1':
    'Deadline and policy of an event tool are those of when it was armed, whatever the tool says later.',
  'EVENT-TOOL-FAILS-1':
    'An event tool that cannot ask, or cannot read an answer, says so; nothing is lost or asked again.',
  'EVENT-TOOL-DEFINE-1': 'An event tool that contradicts itself is refused when it is defined or catalogued.',
  'APPROVAL-1': 'human_approval sends nothing, says what it asks as a run event, and is answered by a signal.',
  'APPROVAL-2': 'With choices, human_approval says whether the answer is one of them.',
  'SLACK-CARD-1': 'A Slack card has the form that Slack takes, and is posted once however often its process dies.',
  'SLACK-ANSWER-1': 'What is pressed in Slack is durable before Slack is told so, and reaches the row of its card.',
  'SLACK-ANSWER-2': 'A second press changes nothing and is told so.',
  'SLACK-SIGNATURE-1': 'An interaction whose signature is wrong, or too old, is refused with 401.',
  'SLACK-TIMEOUT-1': 'A Slack card that nobody answered is closed before the time-out counts.',
  'SLACK-ERRORS-1': 'An error that Slack reports under status 200 ends a call as what it means.',
  'SLACK-RECEIVER-1': 'The receiver listens on loopback, checks Host, and refuses what is too large or no interaction.',
  'EVENT-TIMEOUT-1':
    'The time-out policy is saved when a wait is armed; answer against time-out is one atomic transition.',

  // 50-runs: children
  'CHILD-INLINE-1': 'An inline child has its own scope path, and its calls, cost and progress roll up.',
  'CHILD-INLINE-2':
    'A wait in an inline child suspends every scope around it; nothing of the child is recorded that hides it.',
  'CHILD-INLINE-3': 'A failing child is for its parent to catch; a run-fatal error in it is for nobody.',
  'CHILD-LIMITS-1': 'Cycles, depth over 8, more than 100 children of a row and a dataset in a row are refused.',
  'CHILD-NAMED-1': 'A child is a handle or the name of a play that the artifact holds, exported or not.',
  'CHILD-ASYNC-1': 'runPlayAsync starts exactly one run for an invocation key, over kills and resumes.',
  'CHILD-ASYNC-2': 'The same invocation key with another play or input is NonDeterministicPlayError.',
  'CHILD-BUDGET-1': 'A tree of runs draws on the limit of its root.',
  'CHILD-LINEAGE-1': 'A started run knows its parent and root; cycles and depth are checked over runs, too.',
  // signals, workers, detached and waiting runs
  'SIGNAL-DURABLE-1':
    'A signal is on disk before it is acknowledged, and says which rows it has answered, or that it is kept.',
  'SIGNAL-EARLY-1': 'A signal that comes before its wait is kept for it, and answers it at once.',
  'SIGNAL-DOUBLE-1': 'A wait is answered once: a second answer is refused, and so is a signal for a finished run.',
  'SIGNAL-MATCH-1':
    'A signal answers its event, run and row only; where several rows or runs match it lists them and needs --all.',
  'WORKER-TAKES-1': 'A worker takes queued, woken and left runs, several at once, and none that a person interrupted.',
  'WORKER-SIDE-1': 'Of several workers on one workspace each due run is worked on by one.',
  'WORKER-TAKEOVER-1':
    'A worker takes over the run of a killed process of its machine at once, and buys nothing again.',
  'WORKER-FENCE-1': 'A worker that was stopped past its lease writes nothing more, and goes on with other runs.',
  'WORKER-STOP-1':
    'A worker that is told to stop lets calls in flight end and hands its runs back to be taken at once.',
  'WORKER-ISOLATION-1': 'A run that cannot be worked on ends with its own error, and the worker goes on.',
  'DETACH-1': 'run --detach makes a run for a worker, prints it and exits 5; an attached run is never taken by one.',
  'WAITING-EXIT-1': 'A waiting run is no error: exit 5, what it waits for, and the commands that answer and resume it.',
  'WAITING-RESUME-1': 'runs resume of a waiting run makes an attempt, and -o is written once it is completed.',
  'WAITING-CANCEL-1': 'Cancelling a run that nobody works on ends it at once.',
  'CANCEL-TREE-1': 'runs cancel --tree cancels a run and all runs below it, and says what became of each.',
  'CANCEL-BORN-1':
    'A run that is started by one whose cancel was asked for is born to be cancelled, and ends so before its play has run.',
  'CANCEL-PROMPT-1': 'An attempt notices within about a second that its run is to be cancelled.',
  'START-KEY-1': 'The same client idempotency key starts one run, and is refused for another play or input.',

  // 80-quality: chaos
  'CHAOS-KILLS-1':
    'Over random kills the output bytes are those of an undisturbed run, and no recorded call is charged twice.',
  'GOLDEN-JOURNALS-1': 'Suspended runs of every release can be resumed by later ones.',
  'CHAOS-POINTS-1':
    'A process may die before any effect, again and again: results are those of an undisturbed run, no recorded operation is done again, and repeats never exceed what was in flight.',
  'CHAOS-ANYWHERE-1':
    'Workers killed anywhere in a play with a waterfall, a write, a sleep, an event and a run beside it: charged once where keys are honoured; else repeats and doubts are at most what was in flight.',
  'GOLDEN-PINNED-1': 'Golden journals are pinned by hash and never made again.',
  'CHAOS-CATCH-1': 'A play that catches whatever its calls throw never looks finished where its process died or waits.',
  'CHAOS-LEGS-1':
    'A leg that failed before a kill and is healthy after it is not asked again, and the next leg is not paid twice.',
  'CHAOS-CLOCK-1': 'A clock that jumps within an attempt or between two loses nothing and repeats nothing.',
  'CHAOS-TROUBLE-1':
    'A database that is held, a provider that resets after the work, a write with the time in it, a rerun of a doubt: nothing is sent twice.',
  'CHAOS-EVENTS-1':
    'Of rows that each send a card and wait, each card is sent once and each answer reaches its row, whatever is killed.',

  // questions that go out together
  'BATCH-MEMBERS-1': 'Every member of a batch keeps its own identity, receipt, cost and failure.',
  'BATCH-POISON-1': 'A poison row does not fail its neighbours.',
  'BATCH-GATHER-1':
    'A batch is due once it is full, once its wait is over, or once the rows of a pool wait for batches only; never with one question twice, nor with two effects.',
  'BATCH-FILL-1': 'A batch that limits hold back goes on filling until its turn comes, and then goes out, full or not.',
  'BATCH-SIZE-1':
    'A process that a provider has refused a batch for its size sends it no longer ones than it takes; one row that is too long teaches nothing.',
  'BATCH-POOL-1': 'A tool that batches lets twice as many rows in flight as its batch holds, so that batches fill.',
  'BATCH-ALONE-1': "A single question that is left goes out by the tool's own request, where it has one.",
  'BATCH-ONE-1': 'A batch is one operation to limits: one permit, one request; its credits are those of its members.',
  'BATCH-BUDGET-1':
    'A batch shrinks to fit the budget: rows near its end spend all of it, and not a credit more, as single calls do.',
  'BATCH-WHOLE-1':
    "What a provider answers to a batch is durable, with all members' receipts, before code of the tool's author sees it; a mended split reads it anew and buys nothing.",
  'BATCH-SPLIT-1':
    'A split that throws, or leaves out a member, is a contract error of each member: money and answer stay.',
  'BATCH-OUTCOMES-1':
    'A member that the answer refuses ends by itself: rejected, asked again under the next key, or in doubt; nobody else is given its answer.',
  'BATCH-REFUSED-1':
    'A member that the answer to its batch refuses costs nothing, however often it is asked again; what is out again may be charged.',
  'BATCH-REFUSED-2':
    'A member of which its answer does not say whether it was done may have been charged, each time, until somebody says that it was not.',
  'BATCH-REFUSED-3': 'It costs what it costs once somebody says that it was done.',
  'BATCH-KILLED-1':
    'Whatever a batch had said of its members before, one that is out again at a kill may have been done, and what is settled of it is settled once.',
  'BUDGET-GONE-1': 'What the calls may cost that leave a batch before it goes out is given back, and is never unknown.',
  'BATCH-DOUBT-2':
    'A write that a batch answered with nobody knowing whether it was done is in doubt, also where the process died before it could say so.',
  'BATCH-FAILED-1':
    "A batch that fails is each member's failure, tried again as a single call is, and never the dataset's.",
  'BATCH-SAME-1':
    'Where its provider may know a batch by its key, a resume sends the very same batch first: members, order and key, whichever rows come back.',
  'BATCH-DOUBT-1':
    'Each member of a batch of writes without idempotency that may have been sent is in doubt, and is resolved by itself.',
  'BATCH-LEAVE-1': 'Members leave a batch that has not gone out when their run ends; what has gone out is recorded.',
  'BATCH-RESCUE-1':
    'A paid batch that the store refuses is rescued whole, and its members find it once it is imported.',
  'BATCH-MEMORY-1':
    'The answer that many members share is read and split once, however many ask, and what is kept of it is bounded.',
  'BATCH-REPORT-1': 'Reports show the receipt of each member, and the whole that it points at.',
  'STORE-BATCHES-1': 'Members of a batch are found by its key, and its whole answer whether evicted or not.',
  'CHAOS-BATCHES-1':
    'A run of batches may be killed anywhere: nothing recorded is bought again, and repeats are at most what was in flight; with honoured keys nothing is charged twice.',

  // limits and money: plan, provenance and what people see
  'PLAN-EXPECTED-1': 'After a pilot of 500 rows, the cost that plan expects of 5,000 others is within a fifth of it.',
  'PLAN-BOUNDS-1': 'What a run costs is never below the least nor above the most of its plan.',
  'PLAN-TEXT-1':
    "A plan's most holds every call that the play's text shows rows may come to; where the text does not tell, a run asks first.",
  'PLAN-BLIND-1': 'Where a plan could not see all that a run may call, it says so and never calls itself whole.',
  'PROVENANCE-REJECTED-1':
    'A leg whose find was of no use to the cell is rejected; one that the answering leg went by is not.',
  'PROVENANCE-CREDITS-1':
    'The credits of all cells in the provenance export are those of runs show, with failed rows, refreshes and resumes.',
  'PROVENANCE-CREDITS-2':
    'The credits of all cells, and those that runs show has outside rows and columns, are those that the run has settled; the provenance export says what is in no cell, and what tells of it.',
  'LEGS-RESUMED-1': "A resumed run's legs count the rows of earlier attempts, each once, and what they have paid.",
  'TIMINGS-1': "runs show --timings splits every call's time by tool and phase, over all attempts.",
  'GOVERNOR-SHOWN-1': 'runs show and the live view show the numbers with which the governor decides.',
  'CLI-LIVE-1': 'The live view has a line for each dataset and leg, and says what is waited for and until when.',
  'CLI-ERRORS-2': 'Each group of errors of limits and money comes with the command that mends it.',

  // what a new user's session found: reports
  'PLAN-FAILED-1':
    'Calls of a pilot that all failed tell a plan neither what they cost nor how rows go on; it says so.',
  'WHY-UNFINISHED-1':
    'why says of a row without a result what it waits for, or why it has not run, and what goes on with it.',
  'CLI-ERRORS-3': 'runs errors has at most 20 groups of one code in a dataset, and one of all its other messages.',
  'CLI-ERRORS-4':
    'Failures that differ only in a row, job, id, instant or duration are one group of runs errors; those of different tools are not.',
  'WHY-UNKNOWN-1':
    'why <run> lists the calls whose cost nobody knows, each with the most that it may be and the reason.',
  'DATASET-NAME-1': 'Every command names a dataset, that of an inline child too, as the others take it.',
  'ERRORS-SAID-1':
    'Where a provider refuses a request, runs errors and why show its words, and what to mend comes first.',
  'LIVE-PARKED-1': 'Rows that come back from waiting make no rate negative and no time left wrong.',
  'NEXT-WORKS-1': 'Of a run that is out of credits, only commands are named that let it go on.',
  'PLAN-MOST-1': 'A plan that could not follow the play to its end says that it may cost more than its most.',
  'PLAN-UNLIMITED-1': 'A plan of tools without declared rates says so, and names no time.',

  // what a new user's session found: commands that only look, or stop
  'CLI-RECORDS-1': 'What runs and plans nothing works though the config or a tool is broken, and says so on stderr.',
  'BUDGET-UNKNOWN-2':
    'What a run has bought or begun and not settled is shown as unknown credits once nobody works on it.',
  'WAITING-TIMES-1':
    'A waiting run says until when each event is waited for, and apart from that when it goes on by itself.',
  'DOUBT-LATE-2':
    'A write whose answer came late is not listed in doubt, but as done, with the command that takes its answer.',
  'DOUBT-ANSWER-1':
    'A write is not said to be done without its answer: the play never goes on with null unless --data null says so.',
  'DOUBT-NEXT-1': 'What runs resolve names as the next command works, however the run stands.',

  // what a new user's session found
  'DOUBT-LEGS-1':
    'A failure that the play went on past before it wrote something is not tried again; at worst its row fails.',
  'DOUBT-LATE-1': 'An answer that comes when its write is in doubt already ends the doubt.',
  'INTENT-RESOLVE-3':
    'A write that is said to be done costs what its tool reads from what is said, and the most that it may where that cannot be read.',
  'INTENT-RESOLVE-2': 'What somebody says of a write in doubt counts for its place, whatever its input is now.',
  'DELIVER-STOPPED-1':
    'A process that was stopped for longer than a time-out reads what has arrived before it gives up.',
} as const satisfies Record<string, string>;

/** Promises of later work. A test may name them already; none is required to. */
export const LATER = {
  // limits and money
} as const satisfies Record<string, string>;

export type RequirementId = keyof typeof REQUIREMENTS | keyof typeof LATER;
