import type { StandardSchemaV1 } from '@standard-schema/spec';

/** A JSON Schema document (draft 2020-12 or draft 7), as plain data. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Any Standard Schema (zod, valibot, arktype …) or a JSON Schema. */
export type SchemaLike<Output = unknown> = StandardSchemaV1<unknown, Output> | JsonSchema;
