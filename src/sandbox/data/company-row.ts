/** Rough number of employees; bands, because the exact figure changes every quarter. */
export type HeadCountBand = '1-50' | '51-200' | '201-500' | '501-1000' | '1001-5000' | '5001-10000' | '10001+';

/** Name, public web domain, industry, ISO 3166-1 alpha-2 country of the head office, head-count band. */
export type CompanyRow = readonly [
  name: string,
  domain: string,
  industry: string,
  country: string,
  headCount: HeadCountBand,
];
