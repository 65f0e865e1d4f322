export type { CatalogueMode } from './account.ts';
export { type BatchOptions, batchOf, batchTool } from './batch-tool.ts';
export { answerText, answerView } from './body-text.ts';
export { BUILTIN_TOOL_IDS, builtinTools } from './builtin.ts';
export { buildCatalogue, type Catalogue, type CatalogueOptions } from './catalogue.ts';
export { type MessageOf, messageTool } from './event-message.ts';
export { fixtureTransport, recordingTransport } from './fixtures.ts';
export { type FunctionTransportOptions, functionTransport } from './function-transport.ts';
export type { ExchangeOptions, HttpClient, HttpClientOptions } from './http-client.ts';
export type { Exchanged, HttpBreak, HttpResponse } from './http-exchange.ts';
export type { HttpRequest } from './http-request.ts';
export { type HttpTransportOptions, httpTransport } from './http-transport.ts';
export { handleIn, type Job, jobPollTool, jobStartTool } from './job-tool.ts';
export type {
  CatalogueTool,
  Delivered,
  Failure,
  Operation,
  ProviderAccount,
  RawAnswer,
  ReadSecret,
  Transport,
  Validation,
} from './port.ts';
export { type Reconcile, type Reconciliation, reconciler } from './reconcile.ts';
export { type Redactor, redactorOf } from './redaction.ts';
export { routeTransport } from './route.ts';
export { ALREADY_ANSWERED, type Interaction, readInteraction, type SlackRequest } from './slack/interaction.ts';
export { type SlackReplies, slackReplies } from './slack/replies.ts';
