import { NO_CHOICES, type MediaChoices } from '$lib/services/chat/media/media_request';
import { putSetting, readSetting } from '$lib/storage/settings';
import { chatStorage } from '../storage.svelte';

const NAME = 'media.choices';
/** Of so many models, the latest ones, this browser keeps the choices. */
const MOST_MODELS = 50;

/** Those that the browser does not store are in this tab's memory. */
let known: Record<string, MediaChoices> | undefined;

/** What a person has chosen for requests to a model of images or audio in this browser. */
export async function mediaChoices(model: string): Promise<MediaChoices> {
	return { ...NO_CHOICES, ...(await all())[model] };
}

export async function chooseMedia(model: string, choices: MediaChoices): Promise<void> {
	const others = Object.entries(await all()).filter(([name]) => name !== model);
	known = Object.fromEntries([...others.slice(1 - MOST_MODELS), [model, choices]]);
	const kept = known;
	await chatStorage.write(() => putSetting(NAME, kept));
}

async function all(): Promise<Record<string, MediaChoices>> {
	const kept = await chatStorage.read(() => readSetting(NAME), undefined);
	return (kept as Record<string, MediaChoices> | undefined) ?? known ?? {};
}
