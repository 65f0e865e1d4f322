/** Calls that share a request: where each stands in it, and what it asks, as JSON. NULL for calls that go out alone. */
export const batches = `
ALTER TABLE operations ADD COLUMN batch TEXT;
CREATE INDEX operations_of_batches ON operations (run_no, operation_key) WHERE batch IS NOT NULL;
`;
