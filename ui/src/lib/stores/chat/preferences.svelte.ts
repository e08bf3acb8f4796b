import { browserLanguage, language, LANGUAGES, type Language } from '$lib/chat_text/language.svelte';
import type { Place } from '$lib/chat_types';
import { forgetChatPreferences, storeChatPreferences, storedChatPreferences } from '$lib/services/preferences';

/** What the Enter key does in the composer: send the message (Shift+Enter: a new line), or a new line (Ctrl+Enter sends). */
export type EnterKey = 'send' | 'newline';

interface Stored {
	language: Language | null;
	enterKey: EnterKey | null;
	newPlace: Place | null;
	isListHidden: boolean;
}

/** How this browser uses the chat. Null is what was not chosen: the browser decides. */
class PreferenceStore {
	#stored: Stored = $state.raw(checked(storedChatPreferences()));

	/** The chosen language; null: that of the browser. */
	get language(): Language | null {
		return this.#stored.language;
	}

	set language(code: Language | null) {
		this.#change({ language: code });
		void this.applyLanguage();
	}

	/** What Enter does: on devices without a keyboard of keys, a new line. */
	get enterKey(): EnterKey {
		return this.#stored.enterKey ?? (isTouchOnly() ? 'newline' : 'send');
	}

	set enterKey(key: EnterKey) {
		this.#change({ enterKey: key });
	}

	/** Where new conversations are kept. */
	get newPlace(): Place {
		return this.#stored.newPlace ?? 'browser';
	}

	set newPlace(place: Place) {
		this.#change({ newPlace: place });
	}

	/** Whether the list of conversations is hidden on wide screens. */
	get isListHidden(): boolean {
		return this.#stored.isListHidden;
	}

	set isListHidden(isHidden: boolean) {
		this.#change({ isListHidden: isHidden });
	}

	/** Show the pages in the chosen language. */
	async applyLanguage(): Promise<void> {
		try {
			await language.use(this.language ?? browserLanguage());
		} catch {
			// its words cannot be loaded now: those of before stay
		}
	}

	/** Forget all that was chosen. */
	forget(): void {
		forgetChatPreferences();
		this.#stored = checked({});
		void this.applyLanguage();
	}

	#change(values: Partial<Stored>): void {
		this.#stored = { ...this.#stored, ...values };
		storeChatPreferences({ ...this.#stored });
	}
}

function checked(values: Record<string, unknown>): Stored {
	const { language: code, enterKey, newPlace, isListHidden } = values;
	return {
		language: typeof code === 'string' && Object.hasOwn(LANGUAGES, code) ? (code as Language) : null,
		enterKey: enterKey === 'send' || enterKey === 'newline' ? enterKey : null,
		newPlace: newPlace === 'browser' || newPlace === 'server' ? newPlace : null,
		isListHidden: isListHidden === true
	};
}

function isTouchOnly(): boolean {
	return typeof matchMedia === 'function' && matchMedia('(pointer: coarse) and (hover: none)').matches;
}

export const preferences = new PreferenceStore();
