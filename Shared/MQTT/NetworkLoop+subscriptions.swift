/// The subscriber, and the subscriptions that the broker has of it.
extension NetworkLoop {
    func subscriberEntered(_ entering: Mailbox.Subscriber, now: Instant) {
        subscriber = entering
        guard !isDraining else { return }
        connection?.queue.isOpen = true
        perform(machine.subscriberEntered(entering.subscriptions, now: now), now: now)
    }

    func subscriberLeft() {
        if !isDraining { unsubscribe() }
        subscriber = nil
        stuck = nil
        pendingChanges = 0
        outbox.removeAll()
        machine.subscriberLeft()
        connection?.queue.isOpen = false
        _ = connection?.queue.take(all: true)
        gate.subscriberLeft()
    }

    func drain() {
        guard !isDraining else { return }
        isDraining = true
        unsubscribe()
        connection?.queue.isOpen = false
    }

    private func unsubscribe() {
        guard machine.isAccepted, let filters = subscriber?.subscriptions.map(\.filter), !filters.isEmpty else {
            return
        }
        // The next connection has no subscriptions anyway.
        _ = try? connection?.unsubscribe(filters)
    }

    /// Begins the change that `setSubscriptions` asked for, one at a time and not before the connection's own SUBACKs.
    func changeSubscriptions(now: Instant) {
        guard let subscriber, pendingChanges == 0, !isDraining, machine.isEstablished || !machine.isAccepted,
            let change = mailbox.withLock({ $0.subscriber?.change.take() })
        else { return }
        pendingChanges = change.calls
        self.subscriber?.subscriptions = change.subscriptions
        guard machine.isEstablished else { return }
        let (former, newest) = (subscriber.subscriptions, change.subscriptions)
        let (removed, added) = former.trimmingCommonEnds(with: newest)
        if !removed.isEmpty {
            let kept = Set(newest.map(\.filter))
            unsubscribe(removed.map(\.filter).filter { !kept.contains($0) }, now: now)
        }
        let wanted = change.renewed.isEmpty ? added : newest[...]
        if !wanted.isEmpty {
            let known = Set(former)
            subscribe(wanted.filter { !known.contains($0) || change.renewed.contains($0) }, now: now)
        }
    }

    func perform(_ action: ConnectionMachine.SubscribeAction, now: Instant) {
        switch action {
        case .none: break
        case .announce: announce()
        case .subscribe(let subscriptions): subscribe(subscriptions, now: now)
        }
    }

    /// A packet carries filters of one QoS; brokers limit its length.
    private func subscribe(_ subscriptions: [MQTTSubscription], now: Instant) {
        for qos in [QoS.atMostOnce, .atLeastOnce] {
            send(subscriptions.filter { $0.qos == qos }, now: now) { connection, packet throws(MQTTError) in
                (try connection.subscribe(packet.map(\.filter), qos: qos), packet)
            }
        }
    }

    private func unsubscribe(_ filters: [String], now: Instant) {
        send(filters, now: now) { connection, packet throws(MQTTError) in (try connection.unsubscribe(packet), []) }
    }

    /// Sends packets of at most 64 elements; `body` returns the packet's id and the subscriptions that it asks for.
    private func send<Element>(
        _ elements: [Element], now: Instant,
        _ body: (Connection, [Element]) throws(MQTTError) -> (Int32, [MQTTSubscription])
    ) {
        var rest = elements[...]
        while !rest.isEmpty, let connection {
            let packet = Array(rest.prefix(64))
            rest = rest.dropFirst(64)
            do throws(MQTTError) {
                let (id, subscriptions) = try body(connection, packet)
                machine.sent(subscriptions, as: id, now: now)
            } catch {
                lose(error, now: now)
            }
        }
    }
}

extension [MQTTSubscription] {
    /// Both lists without the elements that both begin and end with: most changes are of few among thousands, and comparing is
    /// cheaper than hashing.
    fileprivate func trimmingCommonEnds(with other: Self) -> (ArraySlice<Element>, ArraySlice<Element>) {
        let most = Swift.min(count, other.count)
        var begin = 0
        while begin < most, self[begin] == other[begin] { begin += 1 }
        var end = 0
        while end < most - begin, self[count - 1 - end] == other[other.count - 1 - end] { end += 1 }
        return (self[begin..<count - end], other[begin..<other.count - end])
    }
}
