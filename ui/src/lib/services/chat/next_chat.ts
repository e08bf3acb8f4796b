import type { ChatSettings } from '$lib/chat_types';
import { putSetting, readSetting } from '$lib/storage/settings';
import { settingsFrom } from './presets';

const NAME = 'chat.next';

/** The settings of the chat that has no message yet, as they were kept; null if there are none that can be used. */
export async function readNextChat(): Promise<ChatSettings | null> {
	try {
		const kept = await readSetting(NAME);
		return kept == null ? null : settingsFrom(kept);
	} catch {
		return null; // of another version of the pages, or the browser stores nothing
	}
}

/** Keep them, so that a reload has them again. */
export async function keepNextChat(settings: ChatSettings): Promise<void> {
	await putSetting(NAME, JSON.parse(JSON.stringify(settings)));
}
