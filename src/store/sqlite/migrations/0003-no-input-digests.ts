/** A receipt holds the input itself; its digest was never read, and a tenth of what a call wrote. */
export const noInputDigests = `
ALTER TABLE receipts DROP COLUMN input_digest;
`;
