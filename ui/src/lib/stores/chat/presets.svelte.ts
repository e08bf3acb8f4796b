import type { Preset } from '$lib/chat_types';
import { newId } from '$lib/services/chat/new_records';
import type { PresetContent } from '$lib/services/chat/presets';
import { chatStorage } from '$lib/stores/chat/storage.svelte';
import { putPreset, readPresets, removePreset } from '$lib/storage/presets';

/** The presets of this browser. */
class PresetStore {
	list: Preset[] = $state.raw([]);

	/** Read them: other tabs may have changed them. */
	async read(): Promise<void> {
		this.list = await chatStorage.read(readPresets, this.list);
	}

	/** Keep a preset: a new one, or under the id of one that is there. Returns whether the browser has stored it. */
	async save(content: PresetContent, id: string = newId()): Promise<boolean> {
		const preset: Preset = { ...($state.snapshot(content) as PresetContent), id };
		this.list = [...this.list.filter((one) => one.id !== id), preset];
		return chatStorage.write(() => putPreset(preset));
	}

	async remove(id: string): Promise<void> {
		this.list = this.list.filter((one) => one.id !== id);
		await chatStorage.write(() => removePreset(id));
	}
}

export const presets = new PresetStore();
