import { api } from '$lib/api/client';

/** The model of a first conversation: a loaded one if there is one. Null if there is none, or no answer. */
export async function readFirstModel(): Promise<string | null> {
	try {
		const { data } = await api.GET('/v1/models');
		const models = data?.data ?? [];
		return (models.find(({ state }) => state === 'loaded') ?? models[0])?.id ?? null;
	} catch {
		return null;
	}
}
