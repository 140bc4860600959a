import Metrics
import ServiceKit
import Workouts

/// What operators see of the service.
struct WeatherFetcherMetrics {
    private static let prefix = "pacebus_weather_"

    private let factory: PrometheusMetrics
    private let messages: Counter
    private let requestTime: Timer
    private let sessions: Meter
    private let unplaced: Meter
    private let cells: Meter
    private let isAsked: Meter

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe(Self.help)
        messages = Counter(label: Self.prefix + "messages_total", factory: factory)
        requestTime = Timer(label: Self.prefix + "request_seconds", factory: factory)
        sessions = Meter(label: Self.prefix + "sessions", factory: factory)
        unplaced = Meter(label: Self.prefix + "sessions_without_place", factory: factory)
        cells = Meter(label: Self.prefix + "cells", factory: factory)
        isAsked = Meter(label: Self.prefix + "provider_up", factory: factory)
    }

    func received(_ count: Int) {
        messages.increment(by: count)
    }

    func rejected(_ reason: String) {
        count("rejected_total", "reason", reason)
    }

    func answered(_ answer: WeatherAnswer) {
        requestTime.record(duration: answer.took)
        let outcome =
            switch answer.outcome {
            case .observed: "observed"
            case .unchanged: "unchanged"
            case .failed(let failure): failure.kind
            }
        count("requests_total", "outcome", outcome)
    }

    func show(_ machine: WeatherFetcherMachine) {
        let live = machine.entries.values.filter(\.isLive)
        sessions.set(live.count)
        unplaced.set(live.count { $0.record.cell == nil })
        cells.set(machine.cells.count)
        isAsked.set(machine.gate.failures == 0 ? 1 : 0)
    }

    private func count(_ name: String, _ label: String, _ value: String) {
        Counter(label: Self.prefix + name, dimensions: [(label, value)], factory: factory).increment()
    }

    private static let help = [
        prefix + "messages_total": "Messages handled.",
        prefix + "rejected_total": "Payloads that could not be read, by reason.",
        prefix + "requests_total": "Requests made of the provider, by what came of them.",
        prefix + "request_seconds": "How long the provider took.",
        prefix + "sessions": "Live sessions.",
        prefix + "sessions_without_place": "Live sessions of which nobody knows where they are.",
        prefix + "cells": "Squares of 0.01 degrees in memory.",
        prefix + "provider_up": "Whether the provider's last answer was of use: 1, or 0.",
    ]
}
