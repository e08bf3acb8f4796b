import type { ChatText } from './en';

/** All words of the chat in German. */
export const de: ChatText = {
	shell: {
		newChat: 'Neuer Chat'
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
	settings: {},
	content: {}
};
