import Foundation
package import Workouts

/// Bests, load and sources of sessions, computed by `bests_summary.py`.
package enum IndependentBests {
    package struct Session: Sendable {
        let activity: Activity
        let poolLength: Double?
        let profile: Profile
        let segments: [Segment]
        let streams: [Device: [Sample]]
        /// The times and metres of a route.
        let track: [(Timestamp, Double)]

        package init(
            _ streams: [Device: [Sample]], _ segments: [Segment], activity: Activity, profile: Profile,
            poolLength: Double? = nil, track: [(Timestamp, Double)] = []
        ) {
            self.activity = activity
            self.poolLength = poolLength
            self.profile = profile
            self.segments = segments
            self.streams = streams
            self.track = track
        }

        fileprivate var json: [String: Any] {
            var values: [String: Any] = [
                "activity": activity.rawValue,
                "segments": segments.compactMap { segment in
                    segment.end.map { [segment.start.seconds, $0.seconds] }
                },
                "streams": Dictionary(
                    uniqueKeysWithValues: streams.map { ($0.key.description, $0.value.map(item)) }),
                "profile": [
                    "restingHeartRate": profile.restingHeartRate, "maximumHeartRate": profile.maximumHeartRate,
                    "thresholdPower": profile.thresholdPower, "sex": profile.sex?.rawValue as Any?,
                ].compactMapValues(\.self),
                "track": track.map { [$0.0.seconds, $0.1] },
            ]
            values["poolLength"] = poolLength
            return values
        }

        private func item(_ sample: Sample) -> [String: Double] {
            var item = Dictionary(uniqueKeysWithValues: sample.quantities.map { ($0.key, sample[$0] ?? 0) })
            item["c"] = sample.time?.seconds
            return item
        }
    }

    package struct Result: Decodable, Sendable {
        package let bests: Bests
        package let load: TrainingLoad
        package let sources: [CountedSource]
    }

    package static func results(of sessions: [Session]) async throws -> [Result] {
        let folder = try TemporaryFolder()
        let input = folder.file("sessions.json")
        try JSONSerialization.data(withJSONObject: sessions.map(\.json)).write(to: URL(filePath: input))
        let output = try await ChildProcess.output(
            of: [Python.interpreter, Python.program("bests_summary.py"), input])
        return try JSONDecoder().decode([Result].self, from: output)
    }
}
