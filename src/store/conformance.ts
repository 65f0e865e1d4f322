import { afterEach, beforeEach, describe } from 'vitest';
import { atomicity } from './conformance/atomicity.ts';
import { claims } from './conformance/claims.ts';
import { copies } from './conformance/copies.ts';
import { datasets } from './conformance/datasets.ts';
import { handles } from './conformance/handles.ts';
import { journal } from './conformance/journal.ts';
import { operations } from './conformance/operations.ts';
import { receiptReads, receiptWrites } from './conformance/receipts.ts';
import { reports } from './conformance/reports.ts';
import { leases, runs } from './conformance/runs.ts';
import type { OpenStore, StoreUnderTest } from './conformance/samples.ts';
import { signals } from './conformance/signals.ts';
import { waits } from './conformance/waits.ts';

/** What every adapter of the Store port must do. `open` makes a new, empty store for each test. */
export function describeStoreConformance(name: string, open: OpenStore): void {
  describe(`store conformance: ${name}`, () => {
    let opened: StoreUnderTest;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.dispose());
    const current = (): StoreUnderTest => opened;

    describe('runs', () => runs(current));
    describe('leases', () => leases(current));
    describe('atomicity and fencing', () => atomicity(current));
    describe('receipts, written', () => receiptWrites(current));
    describe('receipts, read', () => receiptReads(current));
    describe('journal and boundaries', () => journal(current));
    describe('datasets', () => datasets(current));
    describe('claims', () => claims(current));
    describe('reports', () => reports(current));
    describe('waits', () => waits(current));
    describe('signals', () => signals(current));
    describe('operations', () => operations(current));
    describe('copies of runs', () => copies(current));
    describe('several handles', () => handles(current));
  });
}
