package import Workouts

/// The topics of a kind of stream.
extension StreamName.Kind {
    /// What a device publishes its items on.
    package func items(_ device: Device) -> SessionTopic {
        switch self {
        case .samples: .samples(device)
        case .locations: .locations(device)
        }
    }

    /// Where the number expected next is told.
    package func ack(_ device: Device) -> SessionTopic {
        switch self {
        case .samples: .samplesAck(device)
        case .locations: .locationsAck(device)
        }
    }

    /// What the owner makes of the items while they come.
    package var live: SessionTopic {
        switch self {
        case .samples: .metrics
        case .locations: .route
        }
    }

    /// What the owner makes of the items in the end.
    package var summary: SessionTopic {
        switch self {
        case .samples: .summaryMetrics
        case .locations: .summaryRoute
        }
    }

    /// One piece of the final rows.
    package func chunk(_ number: Int) -> SessionTopic {
        switch self {
        case .samples: .series(number)
        case .locations: .track(number)
        }
    }

    /// The device whose items of this kind stand on a topic; `nil` for every other topic.
    package func device(of topic: SessionTopic) -> Device? {
        switch (self, topic) {
        case (.samples, .samples(let device)), (.locations, .locations(let device)): device
        default: nil
        }
    }
}
