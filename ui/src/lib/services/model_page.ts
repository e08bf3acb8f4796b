import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';
import type { Change, Model } from '$lib/services/feed_events';

type Schemas = components['schemas'];
export type ModelDetail = Schemas['ModelDetail'];
export type Replica = Schemas['ReplicaObject'];
export type LogLine = Schemas['EngineLogLine'];
export type LogPage = Schemas['EngineLog'];

/** Which lines of a log; empty texts are no filter. */
export interface LogFilter {
	operation: string;
	replica: string;
}

/** A field of a model's definition, and what is in force instead of it. */
export interface DefinitionRow {
	name: string;
	configured: string;
	/** Undefined: what is configured. */
	inForce: string | undefined;
}

const HAS_OVERRIDE = ['loading', 'loaded', 'unloading'];

/** One model with its replicas. Raises `ApiProblem`. */
export function readModel(name: string): Promise<ModelDetail> {
	return call(api.GET('/v1/admin/models/{name}', { params: { path: { name } } }));
}

/** The latest changes of a model's state, the newest first. Raises `ApiProblem`. */
export async function readChanges(model: string, limit: number): Promise<{ changes: Change[]; hasMore: boolean }> {
	const page = await call(api.GET('/v1/admin/changes', { params: { query: { model, limit } } }));
	return { changes: page.data as Change[], hasMore: page.has_more };
}

/** A part of the log of a model's engines: the latest lines, or those after `after`. Raises `ApiProblem`. */
export function readLog(name: string, filter: LogFilter, after: string | undefined, limit: number): Promise<LogPage> {
	const query = {
		...(filter.operation ? { operation: filter.operation } : {}),
		...(filter.replica ? { replica: filter.replica } : {}),
		...(after === undefined ? {} : { after }),
		limit
	};
	return call(api.GET('/v1/admin/models/{name}/log', { params: { path: { name }, query } }));
}

/** A value of a definition as people read it: a text as it is, all else as JSON. */
export function valueText(value: unknown): string {
	return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The definition, with what is in force instead; fields that only the load has are at the end. */
export function definitionRows(model: Model): DefinitionRow[] {
	const replicas = HAS_OVERRIDE.includes(model.runtime_state) ? { replicas: model.replicas } : {};
	const inForce: Record<string, unknown> = { ...model.load_override, ...replicas };
	const definition = model.definition as Record<string, unknown>;
	const names = [...Object.keys(definition), ...Object.keys(inForce).filter((name) => !(name in definition))];
	return names.map((name) => {
		const configured = name in definition ? valueText(definition[name]) : '';
		const changed = name in inForce && valueText(inForce[name]) !== configured;
		return { name, configured, inForce: changed ? valueText(inForce[name]) : undefined };
	});
}

/** The lines that are shown after more have come: the latest `most`. A line that is there already is left out; without a new one they are `before`. */
export function withLines(before: readonly LogLine[], more: readonly LogLine[], most: number): readonly LogLine[] {
	const last = before.at(-1)?.id;
	const at = last === undefined ? -1 : more.findIndex((line) => line.id === last);
	const added = more.slice(at + 1);
	return added.length > 0 ? [...before, ...added].slice(-most) : before;
}

/** The lines that contain a text, in small or large letters. */
export function matching(lines: readonly LogLine[], search: string): readonly LogLine[] {
	const wanted = search.trim().toLowerCase();
	return wanted ? lines.filter((line) => line.text.toLowerCase().includes(wanted)) : lines;
}
