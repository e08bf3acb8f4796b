import type { Preset } from '$lib/chat_types';
import { database } from './database';

export async function readPresets(): Promise<Preset[]> {
	return (await database()).getAll('presets');
}

export async function putPreset(preset: Preset): Promise<void> {
	await (await database()).put('presets', preset);
}

export async function removePreset(id: string): Promise<void> {
	await (await database()).delete('presets', id);
}
