import { en, type ChatText } from './en';

/** The languages of the chat, by their codes (BCP 47), each with its own name. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof LANGUAGES;

const LOADERS: Record<Exclude<Language, 'en'>, () => Promise<ChatText>> = {
	de: async () => (await import('./de')).de
};

/** The language of the chat, and its words: English until those of another language have come. */
class LanguageStore {
	code: Language = $state('en');
	text: ChatText = $state.raw(en);

	/** Use this language. */
	async use(code: Language): Promise<void> {
		this.text = code === 'en' ? en : await LOADERS[code]();
		this.code = code;
		document.documentElement.lang = code;
	}
}

export const language = new LanguageStore();

/** The first language of the browser that the chat has. */
export function browserLanguage(): Language {
	const found = navigator.languages.map((tag) => tag.slice(0, 2)).find((code) => code in LANGUAGES);
	return (found as Language | undefined) ?? 'en';
}
