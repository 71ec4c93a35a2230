import CTouchstoneWindow
import TouchstoneAgent
import TouchstoneDevice

/// The window as it stands: which prompt is in it, what was typed, and whether keys count.
///
/// > Concurrency: For the main thread, which is GTK's.
@MainActor @safe final class PromptWindow {
    private let window: OpaquePointer
    private let answer: (sending PromptAnswer, PromptCard) -> Void
    private var card: PromptCard?
    private let passcode = PasscodeBuffer()
    private var deadTime = DeadTime()
    /// Whether the owner chose something about the prompt that is up.
    private var isAnswered = false
    /// Whether the prompt that is up could be seen before.
    private var wasSeen = false

    /// - Parameter answer: Takes what the owner decides about a card.
    init(answer: @escaping (sending PromptAnswer, PromptCard) -> Void) {
        self.answer = answer
        unsafe window = touchstone_window_make(WindowEvents.table, nil)
    }

    // MARK: what the agent says

    func show(_ new: PromptCard) {
        let old = card
        let isNew = old?.identifier != new.identifier
        if isNew {
            if old != nil, !isAnswered { deadTime.interrupted() }
            isAnswered = false
            wasSeen = false
        }
        wipe()
        card = new
        // A new number of seconds is nothing that somebody could have answered otherwise.
        let isSame = !isNew && new.entry == nil && old?.entry == nil && old?.buttons == new.buttons
        if !isSame { unsafe touchstone_window_set_live(window, false) }
        fill(new, old)
        if !isSame { unsafe touchstone_window_focus(window) }
        unsafe touchstone_window_show(window, "\(new.kind) for \(new.name)")
    }

    private func fill(_ new: PromptCard, _ old: PromptCard?) {
        set(TOUCHSTONE_KIND, new.kind)
        set(TOUCHSTONE_WHAT, new.what)
        set(TOUCHSTONE_OBJECT, new.object)
        set(TOUCHSTONE_NAME, new.name)
        set(TOUCHSTONE_PATH, new.path)
        set(TOUCHSTONE_WARNING, new.warning)
        set(TOUCHSTONE_FAILURE, new.failure)
        set(TOUCHSTONE_INSTRUCTION, new.instruction)
        unsafe touchstone_window_set_act(window, new.act.icon)
        if new.details != old?.details {
            unsafe touchstone_window_clear_details(window)
            for line in new.details { unsafe touchstone_window_add_detail(window, line.source.style, line.text) }
        }
        if new.buttons != old?.buttons {
            unsafe touchstone_window_clear_buttons(window)
            for (index, button) in new.buttons.enumerated() {
                unsafe touchstone_window_add_button(window, button.title, index == 0 && button.action.isSuggested)
            }
        }
        if let entry = new.entry {
            unsafe touchstone_window_set_entry(window, entry.label, entry.isDigits, Int32(entry.length ?? 0))
        } else {
            unsafe touchstone_window_set_entry(window, nil, false, 0)
        }
    }

    private func set(_ part: touchstone_text, _ text: String?) {
        unsafe touchstone_window_set_text(window, part, text ?? "")
    }

    /// Keys count from here on, or after what is left of the dead time.
    func confirmed() {
        guard let card else { return }
        if !wasSeen { deadTime.began() }
        wasSeen = true
        live(card)
    }

    private func live(_ shown: PromptCard) {
        guard card == shown else { return }
        let left = deadTime.left
        guard left > .zero else { return unsafe touchstone_window_set_live(window, true) }
        MainThread.after(left) { [weak self] in self?.live(shown) }
    }

    func remove() {
        if card != nil, !isAnswered { deadTime.interrupted() }
        wipe()
        card = nil
        unsafe touchstone_window_set_live(window, false)
        unsafe touchstone_window_hide(window)
    }

    // MARK: what the owner does

    func presented() {
        guard let card else { return }
        answer(.shown, card)
    }

    func pressed(_ button: Int) {
        guard let card, card.buttons.indices.contains(button) else { return }
        switch card.buttons[button].action {
        case .cancel: cancelled()
        case .enter: entered()
        case .fallback: choose(.fallback)
        case .tryAgain: choose(.tryAgain)
        case .allow: choose(.permission(true))
        case .deny: choose(.permission(false))
        }
    }

    func cancelled() { choose(.cancel) }

    private func choose(_ choice: sending PromptAnswer) {
        wipe()
        guard let card else { return }
        isAnswered = true
        answer(choice, card)
    }

    func typed(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let entry = card?.entry, entry.length.map({ passcode.characters < $0 }) ?? true else { return }
        guard unsafe !entry.isDigits || bytes.allSatisfy({ (0x30...0x39).contains($0) }) else { return }
        touchstone_main_hide_memory(true)
        for index in 0..<bytes.count { unsafe passcode.append(bytes[index]) }
        unsafe touchstone_window_set_dots(window, Int32(passcode.characters))
    }

    func erased(all: Bool) {
        if all { wipe() } else { passcode.removeLastCharacter() }
        unsafe touchstone_window_set_dots(window, Int32(passcode.characters))
    }

    func entered() {
        guard card?.entry != nil, passcode.count > 0 else { return }
        let typed = PasscodeBuffer()
        for byte in passcode { typed.append(byte) }
        choose(.passcode(typed))
        unsafe touchstone_window_set_dots(window, 0)
    }

    private func wipe() {
        passcode.wipe()
        touchstone_main_hide_memory(false)
    }
}

extension PromptCard.Act {
    fileprivate var icon: touchstone_act {
        switch self {
        case .key: TOUCHSTONE_KEY
        case .file: TOUCHSTONE_FILE
        case .door: TOUCHSTONE_DOOR
        }
    }
}

extension PromptCard.Source {
    fileprivate var style: touchstone_source {
        switch self {
        case .verified: TOUCHSTONE_VERIFIED
        case .bridge: TOUCHSTONE_BRIDGE
        case .claim: TOUCHSTONE_CLAIM
        }
    }
}

extension PromptCard.Action {
    /// Whether it stands out: not what changes how the prompt is answered, because the finger is the first way.
    fileprivate var isSuggested: Bool {
        switch self {
        case .enter, .allow, .tryAgain: true
        case .fallback, .cancel, .deny: false
        }
    }
}
