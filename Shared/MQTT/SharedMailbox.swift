import Synchronization

/// The ``Mailbox`` with its lock, and the signal that wakes the network loop.
final class SharedMailbox: Sendable {
    private let mailbox = Mutex(Mailbox())
    let wakeup = Wakeup()

    func withLock<R: Sendable>(_ body: (inout Mailbox) -> R) -> R {
        mailbox.withLock { body(&$0) }
    }

    /// Changes the mailbox and wakes the network loop.
    func change<R: Sendable>(_ body: (inout Mailbox) -> R) -> R {
        defer { wakeup.signal() }
        return withLock(body)
    }

    func submit(
        _ messages: [MQTTMessage], id: PublishWindow.ID, goal: PublishWindow.Goal, while isCurrent: MessageCheck?,
        waiter: Mailbox.Waiter
    ) -> PublishWindow.SubmitAction {
        change { mailbox in
            let action = mailbox.window.submit(messages, id: id, goal: goal, while: isCurrent)
            if case .wake = action { mailbox.wait(waiter, for: id) }
            return action
        }
    }

    func cancel(_ id: PublishWindow.ID) {
        let waiter = withLock { mailbox in
            mailbox.window.canceled(id)
            return mailbox.takeWaiter(id)
        }
        waiter?.resume(returning: .failure(.canceled))
    }

    func complete(_ completions: [PublishWindow.Completion]) {
        guard !completions.isEmpty else { return }
        let waiters = withLock { mailbox in completions.map { mailbox.takeWaiter($0.id) } }
        for (waiter, completion) in zip(waiters, completions) {
            waiter?.resume(returning: completion.result)
        }
    }
}
