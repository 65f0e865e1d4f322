import { defineConfig } from 'callsheet';

// The examples buy nothing real: these providers are answered by the local sandbox.
export default defineConfig({
  confirmAbove: 100,
  providers: {
    hunter: { mode: 'sandbox' },
    prospeo: { mode: 'sandbox' },
    dropcontact: { mode: 'sandbox' },
    zerobounce: { mode: 'sandbox' },
    clearbit: { mode: 'sandbox' },
  },
});
