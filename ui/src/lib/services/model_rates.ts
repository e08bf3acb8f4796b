import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import { call } from '$lib/services/call';

/** The rates and times of a model, as of the last seconds. */
export type Rates = components['schemas']['ModelRates'];
/** By model. One that is not in it was not measured lately. */
export type ModelRates = Readonly<Record<string, Rates>>;

/** So often the platform measures the rates. */
export const MEASURED_EVERY_MS = 10_000;

/** The rates of all models at the last measurement. Raises `ApiProblem`. */
export async function readModelRates(): Promise<ModelRates> {
	const { models } = await call(api.GET('/v1/admin/metrics/recent', { params: { query: { limit: 0 } } }));
	return Object.fromEntries(models.map((rates) => [rates.model, rates]));
}
