import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { type ColumnRequest, mapColumns, rowMapper } from './index.ts';
import { failure } from './staging.test-support.ts';

const header = ['First Name', 'E-mail', 'Company_Domain', 'phone'];
const row = { 'First Name': 'Anna', 'E-mail': 'a@example.com', Company_Domain: 'example.com', phone: '1' };

function refusal(found: readonly string[], request: ColumnRequest) {
  return failure((async () => mapColumns(found, request))());
}

describe('mapColumns', () => {
  verifies('FILE-COLUMNS-1', 'adds names for the code and leaves the row as it was stored', () => {
    const mapping = mapColumns(header, { columns: { first_name: 'First Name', email: ['Email', 'E-mail'] } });
    expect(mapping.headerOf).toEqual({ first_name: 'First Name', email: 'E-mail' });
    expect(rowMapper(mapping)(row)).toEqual({ ...row, first_name: 'Anna', email: 'a@example.com' });
    expect(Object.keys(row)).toEqual(header);
  });

  verifies('FILE-COLUMNS-1', 'forgives case, spaces and underscores, no more', () => {
    const mapping = mapColumns(header, {
      columns: { name: 'first_name', domain: 'COMPANY DOMAIN', mail: 'email' },
      required: ['Phone'],
    });
    expect(mapping.headerOf).toEqual({ name: 'First Name', domain: 'Company_Domain', Phone: 'phone' });
    expect(mapping.unmatched).toEqual(['mail']);
  });

  verifies('FILE-COLUMNS-1', 'renames for the code: the header is seen under its new name only', () => {
    const mapping = mapColumns(header, { rename: { phone: 'tel', 'e-MAIL': 'email', gone: 'x' } });
    expect(rowMapper(mapping)(row)).toEqual({
      'First Name': 'Anna',
      email: 'a@example.com',
      Company_Domain: 'example.com',
      tel: '1',
    });
    expect(mapping.unmatched).toEqual(['x']);
  });

  it('swaps two names without losing a value, and leaves out what a row lacks', () => {
    const swap = rowMapper(mapColumns(['a', 'b'], { rename: { a: 'b', b: 'a' } }));
    expect(swap({ a: '1', b: '2' })).toEqual({ a: '2', b: '1' });
    expect(swap({ a: '1' })).toEqual({ b: '1' });
  });

  it('gives the very same row where nothing is mapped', () => {
    expect(rowMapper(mapColumns(header, { required: ['phone'] }))(row)).toBe(row);
  });

  it('takes an exact header before one that is only alike', () => {
    const mapping = mapColumns(['Email', 'email', 'EMAIL'], { required: ['email'], columns: { mail: 'EMAIL' } });
    expect(mapping.headerOf).toEqual({ mail: 'EMAIL' });
  });

  it('COLUMN_AMBIGUOUS when several headers are alike', async () => {
    const error = await refusal(['E mail', 'e_mail'], { columns: { email: 'email' } });
    expect(error.code).toBe('COLUMN_AMBIGUOUS');
    expect(error.details.fitting).toEqual(['E mail', 'e_mail']);
    expect(error.next[0]).toContain('"E mail"');
    const twice = await refusal(['a', 'b'], { columns: { x: 'a' }, rename: { b: 'x' } });
    expect(twice.code).toBe('COLUMN_AMBIGUOUS');
  });

  verifies('FILE-REQUIRED-1', 'COLUMN_MISSING lists what was found and the nearest names', async () => {
    const error = await refusal(header, {
      columns: { email: ['mail', 'Email'] },
      required: ['first_nam', 'email', 'zip'],
    });
    expect(error.code).toBe('COLUMN_MISSING');
    expect(error.message).toContain('"email" (from "mail" or "Email")');
    expect(error.message).toContain('"Company_Domain"');
    expect(error.details.found).toEqual(header);
    expect(error.details.nearest).toEqual({ first_nam: ['First Name'], email: ['E-mail'], zip: [] });
    expect(error.next[0]).toContain('"First Name"');
    expect(
      (
        await refusal(
          Array.from({ length: 60 }, (_, i) => `c${i}`),
          { required: ['zip'] },
        )
      ).message,
    ).toContain('and 10 more');
  });
});
