import Bus
import TestSupport
import Workouts

extension SeededRandom {
    /// Payloads of exports.
    mutating func exportPayloads(of key: SessionKey) -> [AsyncAPIDocument.Payload] {
        let actions: [SessionRequest.Action] = [.chunks, .export(nil), .export(name())]
        let requests = actions.map { SessionRequest(id: identifier(), client: name(), action: $0) }
        let results = [nil, Refusal(code: "denied", message: "not allowed")].map { error in
            ExportResult(
                id: identifier(), client: maybe(name()), mode: maybe(Bool.random(using: &self) ? .watch : .phone),
                workout: revision(), error: error)
        }
        let statuses = ExportStatus.Status.allCases.map { status in
            var message = ExportStatus(
                key: key, target: name(), revision: revision(), status: status, workout: revision(),
                attempts: .random(in: 0...9, using: &self))
            message.nextAttemptAt = maybe(time())
            message.reason = maybe("503 Service Unavailable")
            message.files = maybe(["anna/2026-11-21T061503Z-run.fit"])
            message.mode = maybe(.phone)
            message.healthKit = maybe(healthKitWorkout(key))
            return message
        }
        return requests.map { .init(channel: "request", bytes: JSONCoding.encode($0)) }
            + results.map { .init(channel: "exportResult", bytes: JSONCoding.encode($0)) }
            + statuses.map { .init(channel: "export", bytes: JSONCoding.encode($0)) }
    }

    private mutating func healthKitWorkout(_ key: SessionKey) -> HealthKitWorkout {
        var metadata = HealthKitWorkout.Metadata(key, revision: revision(), isIndoor: .random(using: &self))
        metadata.elevationAscended = maybe(.init(12.5, unit: "m"))
        metadata.weatherTemperature = maybe(.init(-3, unit: "degC"))
        metadata.weatherHumidity = maybe(.init(60, unit: "%"))
        metadata.averageSpeed = maybe(.init(3.1, unit: "m/s"))
        metadata.maximumSpeed = maybe(.init(4.2, unit: "m/s"))
        metadata.timeZone = maybe("Europe/Berlin")
        var workout = HealthKitWorkout(
            activityType: 37, locationType: .outdoor, startDate: time(), endDate: time(), duration: 90,
            events: [.init(type: .pause, date: time()), .init(type: .lap, date: time(), duration: 50)],
            quantities: [
                .init(identifier: "HKQuantityTypeIdentifierStepCount", statistic: .sum, unit: "count", value: 9_000)
            ], metadata: metadata)
        workout.seriesRevision = maybe(revision())
        workout.routeRevision = maybe(revision())
        return workout
    }
}

extension SeededRandom {
    /// Payloads of Live Activities, notifications and logins.
    mutating func activityPayloads(of key: SessionKey) -> [AsyncAPIDocument.Payload] {
        let token = String(repeating: "0a", count: .random(in: 16...256, using: &self))
        let actions: [ActivityRegistration.Action] = [
            .register(token: token, kind: .activity, environment: .production),
            .register(token: token, kind: .start, environment: .sandbox), .withdraw,
        ]
        let registrations = actions.map {
            ActivityRegistration(id: identifier(), client: maybe(name()), device: name(), action: $0)
        }
        let statuses = ActivityStatus.Status.allCases.map { status in
            ActivityStatus(
                key: key, revision: revision(), status: status,
                devices: (0..<Int.random(in: 0...8, using: &self)).map { _ in .init(device: name(), status: status) },
                reason: maybe("Unregistered"))
        }
        let notifications = [.register(token: token, environment: .production), .withdraw].map {
            NotificationRegistration(id: identifier(), client: maybe(name()), device: name(), action: $0)
        }
        var signedOut = SignedOut()
        let signOuts = [SignOut.Kind.all, .one("0a1b2c"), .one("ff")].map {
            SignOut(id: identifier(), client: maybe(name()), kind: $0)
        }
        let ended = signOuts.map { request in
            signedOut.end(request.kind, revision: revision(), at: time())
            return signedOut
        }
        return signOuts.map { .init(channel: "signOut", bytes: JSONCoding.encode($0)) }
            + ended.map { .init(channel: "signedOut", bytes: JSONCoding.encode($0)) }
            + registrations.map { .init(channel: "activityRegister", bytes: JSONCoding.encode($0)) }
            + notifications.map { .init(channel: "notificationsRegister", bytes: JSONCoding.encode($0)) }
            + statuses.map { .init(channel: "activity", bytes: JSONCoding.encode($0)) }
    }
}
