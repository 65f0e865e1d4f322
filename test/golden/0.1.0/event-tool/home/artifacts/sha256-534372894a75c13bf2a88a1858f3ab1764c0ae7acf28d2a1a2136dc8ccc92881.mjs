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
var golden_play_default = definePlay("golden", async (ctx, input) => {
  const find = async (ctx2, n) => (await ctx2.tools.execute({ id: "find", tool: "acme.find", input: { n } })).data;
  const go = (ctx2) => ctx2.waitForEvent("go", { event: "go" });
  const before = await find(ctx, 1);
  const value = (await ctx.tools.execute({ id: "ask", tool: "acme.ask", input: { n: 31 } })).data;
  const gone = await go(ctx);
  return { before, value, gone, after: await find(ctx, 2) };
});
export {
  golden_play_default as default
};
