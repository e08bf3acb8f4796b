// Prints the JSON Schemas of zod's types in an object, as `z.toJSONSchema` makes them for each target.
import { z } from "zod";

const text = z.string();
const types = {
  string: text, number: z.number(), int: z.int(), int32: z.int32(), uint32: z.uint32(), boolean: z.boolean(), null: z.null(),
  any: z.any(), unknown: z.unknown(), never: z.never(), literal: z.literal("a"), literals: z.literal(["a", 1, true, null]),
  enum: z.enum(["a", "b"]), nativeEnum: z.enum({ A: 0, B: "b" }), email: z.email(), html5Email: z.email({ pattern: z.regexes.html5Email }),
  rfc5322Email: z.email({ pattern: z.regexes.rfc5322Email }), unicodeEmail: z.email({ pattern: z.regexes.unicodeEmail }),
  uuid: z.uuid(), uuidv4: z.uuidv4(), uuidv7: z.uuidv7(), guid: z.guid(), url: z.url(), httpUrl: z.httpUrl?.() ?? z.url(), emoji: z.emoji(), base64: z.base64(),
  base64url: z.base64url(), nanoid: z.nanoid(), cuid: z.cuid(), cuid2: z.cuid2(), ulid: z.ulid(), xid: z.xid(), ksuid: z.ksuid(),
  ipv4: z.ipv4(), ipv6: z.ipv6(), cidrv4: z.cidrv4(), cidrv6: z.cidrv6(), e164: z.e164(), jwt: z.jwt(),
  date: z.iso.date(), time: z.iso.time(), datetime: z.iso.datetime(), offset: z.iso.datetime({ offset: true }),
  local: z.iso.datetime({ local: true }), precision: z.iso.datetime({ precision: 3 }), duration: z.iso.duration(),
  regex: text.regex(/^[a-z]+$/), flags: text.regex(/^abc$/i), lookahead: text.regex(/^(?=.*\d)[a-z\d]{8,}$/), unanchored: text.regex(/abc/),
  lengths: text.min(1).max(10), longLength: text.max(100000), startsWith: text.startsWith("a"), endsWith: text.endsWith("z"), includes: text.includes("m"),
  emailWithLength: z.email().max(254), uppercase: text.uppercase(), template: z.templateLiteral(["v", z.number()]),
  minimum: z.number().min(1).max(5), exclusive: z.number().gt(1).lt(5), multiple: z.number().multipleOf(0.5), step: z.int().step(5).min(0).max(100),
  array: z.array(text), nonempty: z.array(text).nonempty(), bounded: z.array(text).min(1).max(3), tuple: z.tuple([text, z.number()]),
  rest: z.tuple([text], z.number()), set: z.array(z.enum(["a"])), record: z.record(text, z.number()), enumRecord: z.record(z.enum(["a", "b"]), text),
  partialRecord: z.partialRecord(z.enum(["a", "b"]), text), regexRecord: z.record(text.regex(/^x-/), text), object: z.object({ a: text, b: text.optional() }),
  strict: z.strictObject({ a: text }), loose: z.looseObject({ a: text }), catchall: z.object({ a: text }).catchall(z.number()),
  union: z.union([text, z.number(), z.object({ a: text })]), discriminated: z.discriminatedUnion("kind", [z.object({ kind: z.literal("a"), a: text }), z.object({ kind: z.literal("b"), b: z.number() })]),
  intersection: z.intersection(z.object({ a: text }), z.object({ b: text })), nullable: text.nullable(), optional: text.optional(), nullish: text.nullish(),
  default: text.default("x"), prefault: text.prefault("x"), catch: text.catch("x"), readonly: z.array(text).readonly(), pipe: text.pipe(text.min(2)), branded: text.brand("b"),
  lazy: z.lazy(() => z.object({ a: text })), json: z.json(), meta: text.meta({ title: "T", examples: ["x"] }), file: z.object({ data: z.base64() }),
};
const Category = z.object({ name: text, get children() { return z.array(Category); } });
types.recursive = Category;
const zod = {};
for (const target of ["draft-2020-12", "draft-7", "openapi-3.0"])
  for (const io of ["input", "output"])
    for (const [name, type] of Object.entries(types)) {
      const object = z.object({ x: type });
      try { zod[`${name}, ${target}, ${io}`] = z.toJSONSchema(object, { target, io, unrepresentable: "any" }); } catch (error) { console.error("left out", name, target, error.message); }
    }
console.log(JSON.stringify(zod));
