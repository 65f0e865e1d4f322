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
var golden_play_default = definePlay("golden", async (ctx) => (await ctx.tools.execute({ id: "job", tool: "acme.job", input: { n: 51 } })).data);
export {
  golden_play_default as default
};
