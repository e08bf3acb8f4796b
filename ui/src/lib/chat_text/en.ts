/** All words of the chat in English, and those that it shares with the pages for operators. Other languages have the same keys (`ChatText`). */
export const en = {
	// ---- common: what all pages need
	common: {
		unreachable: 'The platform cannot be reached.',
		refused: (status: number) => `The answer has the status ${status}, and no reason.`,
		close: 'Close',
		cancel: 'Cancel',
		copy: { ready: 'Copy', copied: 'Copied', refused: 'Select the text and copy it' },
		theme: { label: 'Theme', system: 'System', light: 'Light', dark: 'Dark' }
	},
	// ---- shell: the frame, the list of conversations, search, folders, export and import
	shell: {
		newChat: 'New chat',
		admin: 'Administration'
	},
	// ---- thread: messages, their actions, what an answer waits for
	thread: {
		label: 'Conversation',
		you: 'You',
		answerOf: (model: string) => `Answer of ${model}`,
		/** Of a fresh conversation. */
		greeting: 'What can I help with?',
		greetingHint: 'Your GPUs, your models: what you write stays on this platform.',
		examplesLabel: 'Examples',
		examples: [
			{ title: 'Explain', prompt: 'Explain how a hash map works, with a small example.' },
			{ title: 'Write', prompt: 'Write a friendly reply that moves a meeting to next Tuesday.' },
			{ title: 'Code', prompt: 'Write a Python function that merges two sorted lists, with tests.' },
			{ title: 'Compare', prompt: 'Compare SQLite and PostgreSQL in a table: when is which one better?' }
		],
		reading: 'Reading the conversation',
		gone: 'This conversation is not here. It was removed, or is kept in another browser.',
		/** Actions of a message. */
		copy: 'Copy',
		copied: 'Copied',
		copyRefused: 'The browser does not allow it: select the text and copy it',
		edit: 'Edit',
		regenerate: 'Answer again',
		regenerateLong: 'Write another answer; this one stays as a branch',
		continue: 'Continue',
		remove: 'Delete',
		removeTitle: 'Delete this message?',
		removeText: 'It is deleted with all messages after it, in all branches there. This cannot be undone.',
		cancel: 'Cancel',
		code: 'View code',
		inspect: 'Inspect the request',
		actions: 'Actions',
		branch: (at: number, of: number) => `Version ${at} of ${of}`,
		earlierBranch: 'Earlier version',
		laterBranch: 'Later version',
		toEnd: 'To the end of the conversation',
		/** Reasoning. */
		thinking: 'Thinking',
		thinkingFor: (time: string) => `Thinking for ${time}`,
		thoughtFor: (time: string) => `Thought for ${time}`,
		thought: 'Thoughts',
		/** What an answer waits for. */
		sending: 'Sending',
		offline: 'No connection. The answer goes on at the platform; it is read as soon as the platform can be reached.',
		queueNext: 'Next in the queue',
		queuePlace: (place: string, isEstimate: boolean) => `${isEstimate ? 'About number' : 'Number'} ${place} in the queue`,
		queueOf: (depth: string) => `of ${depth}`,
		queue: 'Waiting for a free slot',
		about: (time: string) => `about ${time}`,
		loading: (model: string) => `${model} is loading`,
		promptProgress: 'Reading the prompt',
		waitedFor: (time: string) => `waiting for ${time}`,
		/** How an answer ended. */
		stopped: 'Stopped',
		cut: 'The answer reached its limit of tokens.',
		lost: 'The platform keeps this answer no more. What had come is shown.',
		failed: 'The answer failed.',
		failedPartly: 'The answer failed on the way. What had come is kept.',
		retry: 'Try again',
		retryIn: (time: string) => `Try again in ${time}`,
		signIn: 'Sign in',
		advice: {
			context_length_exceeded: 'The conversation is longer than the model can read. Edit an earlier message, start a new chat, or choose a model with a larger context.',
			conversation_quota_exceeded: 'The platform has no room for more conversations of yours. Delete some, or keep this one in the browser.',
			engine_crashed: 'The model’s engine died while it answered. Another attempt may meet the same end.',
			image_unsupported: 'This model does not read images. Choose one that does, or remove them.',
			invalid_api_key: 'You are signed out.',
			model_failed: 'The model could not be loaded.',
			model_not_loaded: 'The model is not loaded. Choose another one, or load it.',
			queue_full: 'Too many requests wait for this model.',
			queue_timeout: 'No slot became free in time.',
			rate_limit_exceeded: 'Your limit of requests or tokens is reached for now.',
			session_ended: 'You are signed out.',
			tenant_storage_full: 'The platform stores no more answers of yours for now.',
			unknown_model: 'The platform has no model of this name any more. Choose another one.',
			unreachable: 'The platform cannot be reached.'
		} as Record<string, string>,
		/** Facts of an answer. */
		facts: 'Facts of this answer',
		tokens: (count: string) => `${count} tokens`,
		perSecond: (rate: string) => `${rate} tokens/s`,
		firstToken: (time: string) => `first token ${time}`,
		total: (time: string) => `${time} in all`,
		/** For screen readers, when an answer ends. */
		ended: { done: 'The answer is complete.', stopped: 'The answer was stopped.', cut: 'The answer was cut at its limit.', failed: 'The answer failed.', lost: 'The answer is lost.' },
		call: (name: string) => `Call of ${name}`,
		callArguments: 'Arguments',
		callResult: 'Result',
		callError: 'Error'
	},
	// ---- composer
	composer: {
		send: 'Send',
		stop: 'Stop',
		label: 'Your message',
		placeholder: 'Ask anything, or type / for commands',
		placeholderShort: 'Ask anything',
		enterSends: 'Enter sends, Shift+Enter begins a new line',
		enterBreaks: 'Enter begins a new line, Ctrl+Enter sends',
		editing: 'You edit an earlier message. The answer becomes a new version; the old one stays.',
		cancelEdit: 'Cancel the edit',
		commands: 'Commands',
		noModel: 'Choose a model first.',
		/** The context gauge. */
		context: 'Context',
		contextUsed: (used: string, size: string) => `${used} of ${size} tokens`,
		contextUnknown: (used: string) => `${used} tokens`,
		contextExact: 'Counted by the model, with what you are writing.',
		contextEstimate: 'As of the last answer; counted again when you pause while writing.',
		contextFull: 'This is more than the model can read.',
		contextNearlyFull: 'The context is nearly full.'
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
	inspector: {
		codeTitle: 'The same request as code',
		codeHint: 'Set STOKER_API_KEY to your key. Python and JavaScript use the package openai.',
		filesCut: 'The content of files is cut here: put in the whole data URL.',
		copyCode: 'Copy the code',
		title: 'The request',
		times: 'Times',
		request: 'Request',
		headers: 'Headers',
		events: 'Events',
		eventCount: (count: string) => `${count} events`,
		loading: 'Reading from the platform',
		notKept: 'The platform keeps this response no more: what this browser knows is shown.',
		notSent: 'The request has no response yet.',
		sentAt: 'Sent at',
		status: 'Status',
		responseId: 'Response',
		requestId: 'Request id',
		firstToken: 'First token',
		total: 'Whole answer',
		queueWait: 'Wait in the queue',
		gpuTime: 'Time in the engine',
		cacheHit: 'Prefix from the cache',
		cacheHitOf: (count: string) => `yes, ${count} tokens`,
		yes: 'yes',
		no: 'no',
		unknown: 'not known',
		inputTokens: 'Input tokens',
		cachedTokens: 'of these from the cache',
		outputTokens: 'Output tokens',
		reasoningTokens: 'of these reasoning',
		speed: 'Output speed',
		allEvents: 'Show all events',
		download: 'Save the events'
	},
	// ---- palette: commands and shortcuts
	palette: {},
	// ---- settings: the page
	settings: {
		title: 'Settings'
	},
	// ---- content: Markdown
	content: {
		copy: { ready: 'Copy', copied: 'Copied', refused: 'Select the text and copy it' },
		copyCode: 'Copy the code',
		code: (language: string) => (language ? `Code in ${language}` : 'Code'),
		wrap: 'Wrap lines',
		table: 'Table',
		formula: 'Formula',
		done: 'done',
		open: 'open',
		image: 'Image',
		imageOf: (host: string) => `Image on ${host}: it is loaded only if you open the link`,
		hidden: (code: string) => `A hidden character, ${code}`,
		footnote: (label: string) => `Footnote ${label}`,
		showAll: (lines: number) => `Show all ${lines} lines`,
		showLess: 'Show less',
		// data
		data: 'Data',
		entries: (count: number) => (count === 1 ? '1 entry' : `${count} entries`),
		more: (count: number) => `Show ${count} more`,
		wholeText: (characters: number) => `Show all ${characters} characters`,
		asText: 'As text',
		asData: 'As data'
	}
};

export type ChatText = typeof en;
