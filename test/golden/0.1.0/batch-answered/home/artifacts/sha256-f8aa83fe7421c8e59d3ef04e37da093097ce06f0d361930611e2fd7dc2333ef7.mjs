// callsheet:sdk
var sdk = globalThis[/* @__PURE__ */ Symbol.for("callsheet.sdk")];
var take = (name) => {
  if (sdk === void 0) throw new Error("This file is a Callsheet artifact; only Callsheet can run it.");
  if (!(name in sdk)) throw new Error("This release of Callsheet has no " + name + ".");
  return sdk[name];
};
var definePlay = /* @__PURE__ */ take("definePlay");

// golden.play.ts
var leaf = (name) => definePlay(name, async (ctx, input) => (await ctx.tools.execute({ id: "find", tool: "acme.find", input: { n: input.n } })).data);
var [inner, beside] = [leaf("inner"), leaf("beside")];
var golden_play_default = definePlay("golden", async (ctx) => {
  const find = async (ctx2, n) => (await ctx2.tools.execute({ id: "find", tool: "acme.find", input: { n } })).data;
  const go = (ctx2) => ctx2.waitForEvent("go", { event: "go" });
  const rows = await ctx.dataset("rows", [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]).withColumn("v", async (row, ctx2) => {
    return (await ctx2.tools.execute({ id: "bulk", tool: "acme.bulk", input: { to: row.n } })).data;
  }).run({ key: "n" });
  return (await rows.materialize()).map(({ n, v }) => ({ n, v: v ?? null }));
});
export {
  golden_play_default as default
};
