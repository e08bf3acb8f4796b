import { usePolled } from '$lib/hooks/polled.svelte';
import { MEASURED_EVERY_MS, readModelRates, type ModelRates, type Rates } from '$lib/services/model_rates';
import { session } from '$lib/stores/session.svelte';

const NONE: ModelRates = {};

/** In a component: a function that gives the rates of a model; undefined: not measured, or not lately. */
export function useModelRates(): (model: string) => Rates | undefined {
	const rates = usePolled(() => (session.mayInspect ? readModelRates() : Promise.resolve(NONE)), MEASURED_EVERY_MS);
	return (model) => (rates.state === 'live' && rates.value && Object.hasOwn(rates.value, model) ? rates.value[model] : undefined);
}
