/** All words of the chat in English. Other languages have the same keys (`ChatText`). */
export const en = {
	// ---- shell: the frame, the list of conversations, search, folders, export and import
	shell: {
		newChat: 'New chat',
		admin: 'Administration'
	},
	// ---- thread: messages, their actions, what an answer waits for
	thread: {},
	// ---- composer
	composer: {
		send: 'Send',
		stop: 'Stop'
	},
	// ---- models: picker, parameters, presets, side by side
	models: {},
	// ---- attachments
	attachments: {},
	// ---- tools: which are offered, calls, consent
	tools: {},
	// ---- format: answers that follow a JSON schema
	format: {},
	// ---- inspector: code of the request, events, times
	inspector: {},
	// ---- palette: commands and shortcuts
	palette: {},
	// ---- settings: the page
	settings: {
		title: 'Settings'
	},
	// ---- content: Markdown
	content: {}
};

export type ChatText = typeof en;
