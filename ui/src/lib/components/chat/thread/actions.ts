/** What a person can do with the messages of a conversation. All take the id of a message. */
export interface ThreadActions {
	/** Show the branch of this message. */
	choose: (id: string) => void;
	edit: (id: string) => void;
	remove: (id: string) => void;
	/** Ask for an answer to a message that has none. */
	answer: (id: string) => void;
	regenerate: (id: string) => void;
	retry: (id: string) => void;
	continueAnswer: (id: string) => void;
	showCode: (id: string) => void;
	inspect: (id: string) => void;
}
