import CoreMetrics
import Glibc

/// Reading and writing.
extension NetworkLoop {
    struct Readiness {
        var read = false
        var write = false
    }

    var mayRead: Bool {
        guard connection != nil, !outbox.holdsMessages else { return false }
        // The drain collects nothing; only confirmations still matter.
        if isDraining, machine.isAccepted { return mailbox.withLock { $0.window.awaitsConfirmation } }
        return gate.mayRead
    }

    /// Waits for the mailbox, and for the socket if there is something to write or reading is allowed.
    func poll(timeout: Duration) -> Readiness {
        var events: Int16 = 0
        if let connection {
            if mayRead, restsUntil == nil || isUnderBackpressure { events |= Int16(POLLIN) }
            if connection.wantsToWrite, !connection.isShakingHands { events |= Int16(POLLOUT) }
        }
        // A socket without requested events is left out: its hang-up would be reported repeatedly.
        var descriptors = [
            pollfd(fd: mailbox.wakeup.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: events == 0 ? -1 : connection?.socket ?? -1, events: events, revents: 0),
        ]
        let (seconds, attoseconds) = timeout.components
        let milliseconds = seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        Glibc.poll(&descriptors, 2, Int32(clamping: milliseconds))
        if descriptors[0].revents != 0 { mailbox.wakeup.clear() }
        let result = Int32(descriptors[1].revents)
        let isBroken = result & (POLLERR | POLLHUP) != 0
        return Readiness(
            read: result & POLLIN != 0 || isBroken && events & Int16(POLLIN) != 0,
            write: result & POLLOUT != 0 || isBroken && events & Int16(POLLOUT) != 0)
    }

    func exchange(_ ready: Readiness) {
        let now = ContinuousClock.now
        if ready.read || hasUnread { read(now: now) }
        if ready.write { write(now: now) }
    }

    /// Reads at most 512 packets, half a millisecond's, so that a flood does not block the loop.
    func read(now: Instant) {
        (hasUnread, restsUntil) = (false, nil)
        connection?.queue.tick(now: now)
        for _ in 0..<512 {
            guard mayRead, let connection else {
                hasUnread = connection != nil
                return
            }
            do {
                let result = try connection.read()
                handleEvents(of: connection, now: now)
                gate.read(connection.queue.total, now: now)
                if case .drained = result { return rest(now: now) }
            } catch {
                handleEvents(of: connection, now: now)
                if self.connection === connection { lose(error, now: now) }
            }
        }
        hasUnread = connection != nil
    }

    /// Reads nothing for ``MQTTConfiguration/readInterval``, or until the next delivery, if nothing can be delivered earlier.
    private func rest(now: Instant) {
        guard configuration.readInterval > .zero, gate.isOutstanding || nextDelivery ?? now > now else { return }
        let end = now + configuration.readInterval
        restsUntil = min(nextDelivery ?? end, end)
    }

    /// libmosquitto cannot take a message back: one that has become void in its queue ends the connection.
    func write(now: Instant) {
        guard let connection, connection.wantsToWrite else { return }
        guard unwritten?.passes ?? true else {
            return lose(.connectionLost("an unsent message of a lost shard"), now: now)
        }
        defer { if !connection.wantsToWrite { unwritten = nil } }
        do {
            try connection.write()
            handleEvents(of: connection, now: now)
        } catch {
            handleEvents(of: connection, now: now)
            if self.connection === connection { lose(error, now: now) }
        }
    }

    /// Writes until the DISCONNECT is sent and the socket closed, for at most half a second.
    func writeAll(of connection: Connection) {
        let deadline = ContinuousClock.now + .milliseconds(500)
        while connection.socket >= 0, ContinuousClock.now < deadline {
            guard unwritten?.passes ?? true, (try? connection.write()) != nil, connection.socket >= 0 else { return }
            var descriptor = pollfd(fd: connection.socket, events: Int16(POLLOUT), revents: 0)
            Glibc.poll(&descriptor, 1, 100)
        }
    }

    /// Moves pending messages into the connection while the window has space, and writes each before the next one: the process
    /// may be stopped at any moment, and what is in the connection then is written when it continues. The window knows each
    /// packet id before the loop reads or writes again. The packets of one call leave together.
    func publishWaiting(now: Instant) {
        isUnderBackpressure = false
        guard machine.isAccepted, let connection else { return }
        if connection.wantsToWrite || mailbox.withLock({ !$0.window.isHandedOver }) {
            connection.cork(true)
            repeat {
                write(now: now)
            } while self.connection === connection && !connection.wantsToWrite
                && handOverNext(to: connection)
            guard self.connection === connection else { return }
            connection.cork(false)
        }
        // While the socket is full, callers do not wait for it.
        if connection.wantsToWrite { release(now: now) }
        if machine.isAccepted { isUnderBackpressure = mailbox.withLock { $0.window.isUnderBackpressure } }
    }

    /// Returns whether there was a message, and space in the window.
    private func handOverNext(to connection: Connection) -> Bool {
        var (hasNext, isVoid) = (false, false)
        var completion: PublishWindow.Completion?
        var unsendable: (MQTTMessage, MQTTError)?
        mailbox.withLock { mailbox in
            guard let next = mailbox.window.next() else { return }
            hasNext = true
            guard next.check?.passes ?? true else {
                isVoid = true
                completion = mailbox.window.dropped(next)
                return
            }
            do throws(MQTTError) {
                let packet = try publish(next.message, on: connection)
                unwritten = next.check
                completion = mailbox.window.handedOver(next, as: packet)
            } catch {
                unsendable = (next.message, error)
                completion = mailbox.window.failed(next, error)
            }
        }
        if isVoid { metrics.droppedVoid.increment() }
        if let unsendable { reportUnsendable(unsendable.0, unsendable.1) }
        if let completion { mailbox.complete([completion]) }
        return hasNext
    }

    /// Completes the flushes whose messages are written, or that have no connection, or waited for long enough.
    func completeFlushes(now: Instant) {
        guard isFlushing else { return }
        let isWritten = connection.map { !$0.wantsToWrite } ?? true
        let completions = mailbox.withLock { mailbox in
            let isDone = !machine.isAccepted || isWritten && mailbox.window.isHandedOver
            let done = mailbox.flushes.filter { isDone || now - $0.since >= Self.flushTime }
            mailbox.flushes.removeFirst(done.count)
            isFlushing = !mailbox.flushes.isEmpty
            return done.map { PublishWindow.Completion(id: $0.id, result: .success(())) }
        }
        mailbox.complete(completions)
    }

    private func publish(_ message: MQTTMessage, on connection: Connection) throws(MQTTError) -> Int32 {
        guard message.payload.count <= configuration.payloadLimit else {
            throw .invalid("payload above \(configuration.payloadLimit) bytes")
        }
        return try connection.publish(message)
    }

    /// Releases senders that wait for space. Until the subscriber takes a batch nothing can be read, so no confirmation
    /// frees space.
    func releaseSenders(now: Instant) {
        guard isUnderBackpressure, machine.isAccepted, !mayRead else { return }
        release(now: now)
    }

    private func release(now: Instant) {
        switch mailbox.withLock({ $0.window.release() }) {
        case .complete(let completions): mailbox.complete(completions)
        case .overflow: lose(.connectionLost("too many unsent messages"), now: now)
        }
    }

    private func handleEvents(of connection: Connection, now: Instant) {
        guard connection.hasNews else { return }
        var confirmations: [(packet: Int32, reason: UInt8)] = []
        for event in connection.takeEvents() where self.connection === connection {
            switch event {
            case .accepted(let receiveMaximum):
                accepted(receiveMaximum: receiveMaximum, now: now)
            case .connectionRefused(let error), .disconnected(let error):
                lose(error, now: now)
            case .granted(let packet, let codes):
                switch machine.granted(packet, codes: codes) {
                case .none: break
                case .announce: announce()
                case .giveUp(let error): lose(error, now: now)
                }
            case .confirmed(let packet, let reason):
                confirmations.append((packet, reason))
            }
        }
        confirm(confirmations)
        countDropped(of: connection)
    }

    private func confirm(_ confirmations: [(packet: Int32, reason: UInt8)]) {
        guard !confirmations.isEmpty else { return }
        let actions = mailbox.withLock { mailbox in
            confirmations.map { (mailbox.window.confirmed($0.packet), result(of: $0.reason)) }
        }
        var completions: [PublishWindow.Completion] = []
        for (action, result) in actions {
            switch action {
            case .none: continue
            case .unobserved: break
            case .complete(let id): completions.append(.init(id: id, result: result))
            }
            switch result {
            case .success: metrics.sent.increment()
            case .failure(let error): reportFailure(error)
            }
        }
        mailbox.complete(completions)
    }

    private func result(of reason: UInt8) -> Result<Void, MQTTError> {
        reason < 0x80 ? .success(()) : .failure(.refused(reason: reason, Connection.text(reason: reason)))
    }
}
