/** By which receipt the job of a start has ended: whoever recorded that first has settled what the job cost. */
export const jobEnds = `
CREATE TABLE job_ends (start_id INTEGER PRIMARY KEY, end_id INTEGER NOT NULL);
`;
