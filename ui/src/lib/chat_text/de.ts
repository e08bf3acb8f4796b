import type { ChatText } from './en';

/** All words of the chat in German. */
export const de: ChatText = {
	shell: {
		newChat: 'Neuer Chat',
		admin: 'Verwaltung'
	},
	thread: {},
	composer: {
		send: 'Senden',
		stop: 'Anhalten'
	},
	models: {},
	attachments: {},
	tools: {},
	format: {},
	inspector: {},
	palette: {},
	settings: {
		title: 'Einstellungen'
	},
	content: {}
};
