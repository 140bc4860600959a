import CoreMetrics
import Foundation
import Logging
import Timing

/// The thread that owns a client's connections. Everything here but the mailbox is confined to it.
///
/// Its machines decide; it performs the actions.
final class NetworkLoop {
    typealias Instant = ContinuousClock.Instant

    let configuration: MQTTConfiguration
    let logger: Logger
    let mailbox: SharedMailbox
    let metrics = ClientMetrics()

    var machine: ConnectionMachine
    var gate: BatchGate
    var outbox = EventOutbox()
    var connection: Connection?
    var subscriber: Mailbox.Subscriber?
    /// An event that did not fit into the subscriber's stream.
    var stuck: MQTTEvent?
    /// How many calls of `setSubscriptions` wait for their event.
    var pendingChanges = 0
    var isDraining = false
    var hasEndedStream = false
    /// Whether reading stopped before the socket was drained.
    var hasUnread = false
    /// Nothing is read until then: the collected messages are not due earlier.
    var restsUntil: Instant?
    /// See ``PublishWindow/isUnderBackpressure``.
    var isUnderBackpressure = false
    /// Whether a caller waits until everything is written.
    var isFlushing = false
    /// The check of the message that the connection may not have written yet.
    var unwritten: PublishWindow.Check?

    private var random = SystemRandomNumberGenerator()
    /// Logged once until the next success.
    private var reportedLosses: Set<MQTTError> = []
    var reportedFailures: Set<MQTTError> = []
    private var hasConnectedBefore = false
    private var wasReady = false
    /// `run()` throws, and the subscriber ends with its group: it must not report its own end first.
    private var isRefused = false
    private var stopDeadline: Instant?
    private var nextKeepAlive: Instant
    /// The timeout of a graceful stop for the subscriber and for confirmations, and that of a flush.
    static let flushTime = Duration.seconds(2)

    private init(configuration: MQTTConfiguration, logger: Logger, mailbox: SharedMailbox) {
        self.configuration = configuration
        self.logger = logger
        self.mailbox = mailbox
        let now = ContinuousClock.now
        let backoff = Backoff(
            minimum: configuration.backoffMinimum / .seconds(1), maximum: configuration.backoffMaximum / .seconds(1))
        machine = ConnectionMachine(backoff: backoff, timeout: configuration.connectTimeout, now: now)
        gate = BatchGate(interval: configuration.batchInterval)
        nextKeepAlive = now
    }

    /// Starts the thread. It ends after the mailbox requests a stop.
    static func start(configuration: MQTTConfiguration, logger: Logger, mailbox: SharedMailbox) {
        let thread = Thread { NetworkLoop(configuration: configuration, logger: logger, mailbox: mailbox).run() }
        thread.name = "mqtt"
        thread.start()
    }

    private func run() {
        while true {
            let now = ContinuousClock.now
            takeRequests(now: now)
            advance(now: now)
            publishWaiting(now: now)
            reportReadiness()
            completeFlushes(now: now)
            if let restsUntil, restsUntil <= now { read(now: now) }
            deliver(now: now)
            releaseSenders(now: now)
            if let stopDeadline, isFlushed || now >= stopDeadline { break }
            let ready = poll(timeout: timeout(now: now))
            exchange(ready)
        }
        finish()
    }

    // MARK: Requests

    private func takeRequests(now: Instant) {
        let requests = mailbox.withLock { mailbox in
            (mailbox.subscriber, mailbox.finished.take(), mailbox.isDraining, mailbox.stop)
        }
        isFlushing = mailbox.withLock { !$0.flushes.isEmpty }
        if let finished = requests.1 {
            gate.finished(finished)
            // The next batch may be due, and includes what has arrived.
            if restsUntil != nil { restsUntil = now }
        }
        if requests.0?.id != subscriber?.id {
            if subscriber != nil { subscriberLeft() }
            if let entering = requests.0 { subscriberEntered(entering, now: now) }
        }
        if requests.0?.change != nil { changeSubscriptions(now: now) }
        if requests.2 || requests.3 != nil, !isRefused { drain() }
        if let stop = requests.3 {
            stopDeadline = stop == .immediate ? now : stopDeadline ?? now + Self.flushTime
        }
    }

    // MARK: The connection

    private func advance(now: Instant) {
        switch machine.tick(now: now) {
        case .none: break
        case .connect: connect(now: now)
        case .giveUp(let error): lose(error, now: now)
        }
        guard let connection, now >= nextKeepAlive else { return }
        nextKeepAlive = now + .seconds(1)
        do {
            try connection.keepAlive()
        } catch {
            lose(error, now: now)
        }
    }

    private func connect(now: Instant) {
        // A stop during name resolution does not wait for this thread.
        let isStopping = mailbox.withLock { mailbox in
            mailbox.isResolving = mailbox.stop == nil
            return !mailbox.isResolving
        }
        guard !isStopping else { return }
        defer { mailbox.withLock { $0.isResolving = false } }
        do {
            let connection = try Connection(configuration)
            connection.queue.isOpen = subscriber != nil && !isDraining
            try connection.open(
                host: configuration.host, port: configuration.port, keepAlive: configuration.keepAlive)
            self.connection = connection
        } catch {
            lose(error, now: now)
        }
    }

    /// Handles the loss of a connection. The subscriber receives the messages already read before the loss.
    func lose(_ error: MQTTError, now: Instant) {
        let wasEstablished = machine.isEstablished
        // A connection established in the same step is reported before its loss.
        if wasEstablished { deliver(now: now) }
        let leftover = connection?.queue.take(all: true) ?? []
        connection = nil
        unwritten = nil
        (hasUnread, restsUntil) = (false, nil)
        gate.connectionLost()
        if wasEstablished, subscriber != nil, !hasEndedStream { outbox.disconnected(error, leftover: leftover) }
        let delay = machine.lost(now: now, using: &random)
        let details = metadata([
            .broker: "\(configuration.host):\(configuration.port)", .error: "\(error)", .delay: "\(delay)",
        ])
        if configuration.endsWhenRefused, !hasConnectedBefore, error.isLasting {
            isRefused = true
            mailbox.change { mailbox in
                mailbox.refusal = error
                mailbox.stop = .immediate
            }
            return
        }
        let isNews = reportedLosses.insert(error).inserted
        switch error {
        case .refused where isNews:
            logger.error("login refused, check user and password, retrying", metadata: details)
        case .handshakeFailed where isNews:
            logger.error("TLS handshake failed, check certificates and port, retrying", metadata: details)
        case .subscriptionRefused where isNews, .invalid where isNews:
            logger.error("connection failed, check settings and permissions", metadata: details)
        case _ where isNews: logger.warning("connection failed, retrying", metadata: details)
        default: logger.debug("connection failed again, retrying", metadata: details)
        }
        reportReadiness()
        mailbox.complete(mailbox.withLock { $0.window.disconnected(.connectionLost("\(error)")) })
    }

    func announce() {
        reportedLosses.removeAll()
        if subscriber != nil, !isDraining { outbox.connected() }
    }

    func accepted(receiveMaximum: Int, now: Instant) {
        connection?.stopListeningToLog()
        if hasConnectedBefore { metrics.reconnects.increment() }
        hasConnectedBefore = true
        let capacity = min(configuration.publishWindow, receiveMaximum)
        mailbox.withLock { $0.window.connected(capacity: capacity) }
        if subscriber == nil || isDraining { reportedLosses.removeAll() }
        perform(machine.accepted(subscriptions: isDraining ? nil : subscriber?.subscriptions, now: now), now: now)
    }

    private func reportReadiness() {
        let isReady = machine.isEstablished
        guard isReady != wasReady else { return }
        wasReady = isReady
        mailbox.withLock { $0.isReady = isReady }
    }

    // MARK: The end

    private var isFlushed: Bool {
        guard let connection, machine.isAccepted else { return true }
        return subscriber == nil && !connection.wantsToWrite && mailbox.withLock { $0.window.isIdle }
    }

    private func timeout(now: Instant) -> Duration {
        if hasUnread, mayRead { return .zero }
        var next = now + .seconds(1)
        if let deadline = machine.deadline { next = min(next, deadline) }
        if let due = nextDelivery { next = min(next, due) }
        if let restsUntil { next = min(next, restsUntil) }
        if let stopDeadline { next = min(next, stopDeadline) }
        if connection?.isShakingHands == true { next = min(next, now + .milliseconds(10)) }
        return max(next - now, .zero)
    }

    /// Disconnects, ends the loop and destroys the client. After an immediate stop, the broker publishes the will: a
    /// DISCONNECT would discard it.
    private func finish() {
        if let connection, machine.isAccepted,
            configuration.will == nil || mailbox.withLock({ $0.stop }) != .immediate
        {
            connection.disconnect()
            writeAll(of: connection)
        }
        connection = nil
        let (completions, events, runner) = mailbox.withLock { mailbox in
            mailbox.hasStopped = true
            mailbox.isReady = false
            let events = isRefused ? nil : mailbox.subscriber?.events
            let flushed = mailbox.flushes.map { PublishWindow.Completion(id: $0.id, result: .success(())) }
            mailbox.flushes = []
            return (
                mailbox.window.disconnected(.connectionLost("the client stopped")) + flushed, events,
                mailbox.runner.take()
            )
        }
        mailbox.complete(completions)
        events?.finish()
        runner?.resume()
    }
}
