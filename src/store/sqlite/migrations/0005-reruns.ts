/** Every attempt of a run asks which reruns were made from it. */
export const reruns = `
CREATE INDEX runs_by_source ON runs (replayed_from) WHERE replayed_from IS NOT NULL;
`;
