import { api, pathPart } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { asProblem, call } from '$lib/services/call';
import { mebibytes } from '$lib/services/format';
import { fieldOf, inWords, type FieldSpec } from '$lib/services/load_form';
import type { Model } from '$lib/services/models';
import type { Operation } from '$lib/services/operations';
import { text } from '$lib/text';

/** Models that are added to the platform: what a hub has, what an addition would do, and the addition itself. */

type Schemas = components['schemas'];
export type HubModel = Schemas['HubModel'];
export type HubChoice = Schemas['HubChoiceObject'];
export type HubFiles = Schemas['HubFiles'];
export type Fit = Schemas['ModelFit'];
export type Default = Schemas['DefaultObject'];
export type AdditionPlan = Schemas['AdditionPlanObject'];
export type AdditionBody = Schemas['AdditionBody'];
export type Added = Schemas['AddedModel'];

/** So many models of a hub are listed. */
export const MOST_FOUND = 20;
const BUSY_MS = 1_500;
const BUSY_TIMES = 20;

/** The fields of each model that say when it is loaded, with their constraints. */
const POLICIES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
	on_demand: { kind: 'enum', allowed_values: ['load', 'reject'] },
	idle_unload_s: { kind: 'float', minimum: 1, maximum: 31_536_000, unit: 's', null_means: text.add.staysLoaded },
	pin: { kind: 'boolean' }
};
const NULLABLE = 'idle_unload_s';
/** What holds for a model whose configuration does not name these fields. */
const WITHOUT: Readonly<Record<string, unknown>> = { on_demand: 'reject', idle_unload_s: null, pin: false };

// ---- the hub

/** The answer as soon as the hub can be asked: the platform refuses too many questions at a time. */
async function whenFree<T>(ask: () => Promise<T>): Promise<T> {
	for (let left = BUSY_TIMES; ; left -= 1) {
		try {
			return await ask();
		} catch (error) {
			if (asProblem(error).code !== 'hub_busy' || left === 0) throw error;
		}
		await new Promise((done) => setTimeout(done, BUSY_MS));
	}
}

/** The models of the hub that a search finds. Raises `ApiProblem`, as all that follow. */
export async function searchHub(search: string): Promise<HubModel[]> {
	const query = { search, limit: MOST_FOUND };
	return (await whenFree(() => call(api.GET('/v1/admin/hub/models', { params: { query } })))).data;
}

/** The files of a repository to choose from. */
export function readChoices(source: string): Promise<HubFiles> {
	return whenFree(() => call(api.GET('/v1/admin/hub/files', { params: { query: { source } } })));
}

/** What may be searched for: undefined for less than two letters, an address and a path, which name a model by themselves. */
export function searchOf(typed: string): string | undefined {
	const search = typed.trim();
	return search.length < 2 || search.length > 200 || /^[/.~]|:/.test(search) ? undefined : search;
}

/** The repository of a source in its canonical form (`hf://owner/name@revision/file`); undefined for a path. */
export function repositoryOf(source: string): string | undefined {
	return /^hf:\/\/([^/]+\/[^/]+)/.exec(source)?.[1];
}

/** Whether the plan is of the files of this choice. */
export function isPlanned(choice: HubChoice, plan: AdditionPlan): boolean {
	const planned = new Set(plan.files.map(({ name }) => name));
	return choice.files.length > 0 && choice.files.every(({ name }) => planned.has(name));
}

// ---- the addition

/** The path of a model, for a command. */
export function modelPath(name: string): string {
	return `/v1/admin/models/${pathPart(name)}`;
}

/** Where the files of a model come from. */
export function originOf({ origin, definition }: Model): { isOfHub: boolean; source: string } {
	const { repository, revision, file = '' } = origin ?? {};
	if (!repository) return { isOfHub: false, source: file || String(definition['model_path'] ?? '') };
	return { isOfHub: true, source: `hf://${repository}@${revision ?? 'main'}${file && `/${file}`}` };
}

/** The body that changes some fields of a registered model. */
export function changeOf(model: Model, changes: Readonly<Record<string, unknown>>): AdditionBody {
	return { source: originOf(model).source, name: model.name, configuration: { ...changes }, replace: true };
}

/** What an addition would do. */
export function planAddition(body: AdditionBody): Promise<AdditionPlan> {
	return whenFree(() => call(api.POST('/v1/admin/models/plan', { body })));
}

/** Add a model, or replace the registration of one; `operation` is the download of its files, if there is one. */
export function addModel(body: AdditionBody): Promise<Added> {
	return whenFree(() => call(api.POST('/v1/admin/models', { body })));
}

/** Remove a model that was added, with the files that the platform downloaded for it alone. */
export async function removeModel(name: string): Promise<void> {
	await call(api.DELETE('/v1/admin/models/{name}', { params: { path: { name } } }));
}

/** A plan, with the defaults of all plans of this form: a field that was set since has no default in the last one. */
export interface Planned {
	plan: AdditionPlan;
	defaults: Readonly<Record<string, Default>>;
	/** The configuration before anything was set. */
	configuration: Readonly<Record<string, unknown>>;
}

/** What is known after another plan. */
export function withPlan(before: Planned | undefined, plan: AdditionPlan): Planned {
	const defaults = Object.fromEntries(plan.defaults.map((one) => [one.field, one]));
	return {
		plan,
		defaults: { ...before?.defaults, ...defaults },
		configuration: before?.configuration ?? plan.configuration
	};
}

/**
 * The fields of an addition that can be changed: those with a default, each with its reason, then when the model is loaded.
 * What follows from the files alone is no field of the configuration.
 */
export function additionFields({ plan, defaults, configuration }: Planned): FieldSpec[] {
	const fields = Object.values(defaults)
		.filter(({ field }) => field in plan.configuration)
		.map(({ field, value, reason }) => fieldOf(field, constraintOf(field, value), field === NULLABLE, value, reason));
	return [...fields, ...policyFields(configuration).filter(({ name }) => !(name in defaults))];
}

/** The defaults that follow from the files. */
export function factsOfFiles({ plan }: Planned): Default[] {
	return plan.defaults.filter(({ field }) => !(field in plan.configuration));
}

/** The last download of the same model, as the feed has it. */
export function latestDownload(known: Readonly<Record<string, Operation>>, first: Operation): Operation {
	return Object.values(known)
		.filter(({ kind, model }) => kind === first.kind && model === first.model)
		.reduce((one, other) => (other.created_at >= one.created_at ? other : one), first);
}

/** The fields that say when a model is loaded, with their values in a configuration. */
export function policyFields(configuration: Readonly<Record<string, unknown>>): FieldSpec[] {
	const values = { ...WITHOUT, ...configuration };
	return Object.keys(POLICIES).map((name) =>
		fieldOf(name, constraintOf(name, undefined), name === NULLABLE, values[name], text.add.policies[name])
	);
}

/** The same as titles with their values. */
export function policyFacts({ definition }: Model): [title: string, value: string][] {
	return policyFields(definition).map((field) => [text.add.policyNames[field.name] ?? field.name, inWords(field, field.configured)]);
}

function constraintOf(name: string, value: unknown): Readonly<Record<string, unknown>> {
	const policy = POLICIES[name];
	if (policy) return policy;
	if (typeof value === 'number') return { kind: Number.isInteger(value) ? 'integer' : 'float' };
	return { kind: typeof value === 'boolean' ? 'boolean' : typeof value === 'string' ? 'enum' : 'json' };
}

// ---- in words

/** The numbers of a fit: what is needed, what is free, what would be unloaded. */
export function fitInWords({ need_mib, free_mib, total_mib, evicts }: Fit): string {
	const parts: string[] = [];
	if (need_mib !== null) parts.push(text.add.needs(mebibytes(need_mib)));
	if (free_mib !== null && total_mib !== null) parts.push(text.add.free(mebibytes(free_mib), mebibytes(total_mib)));
	if (evicts.length > 0) parts.push(text.add.unloads(evicts));
	return parts.join('; ');
}
