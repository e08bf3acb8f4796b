import { api } from '$lib/api/client';
import { call } from '$lib/services/call';

/** Tokens of answers per second, by model. A model that is not in it was not measured in the last seconds. */
export type ModelRates = Readonly<Record<string, number>>;

/** So often the platform measures the rates. */
export const MEASURED_EVERY_MS = 10_000;

/** The rates of all models at the last measurement. Raises `ApiProblem`. */
export async function readModelRates(): Promise<ModelRates> {
	const { models } = await call(api.GET('/v1/admin/metrics/recent', { params: { query: { limit: 0 } } }));
	return Object.fromEntries(models.map((rates) => [rates.model, rates.output_tokens_per_s]));
}
