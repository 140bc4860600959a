import Bus
import MQTT
import Workouts

extension SessionState {
    /// A finished record of a minute and its rows: a summary and one chunk.
    func finished(
        from start: Timestamp, speed: Double, revision: Int64 = 5
    ) -> (workout: MQTTMessage, rows: [MQTTMessage]) {
        finished(from: start, revision: revision) { _ in speed }
    }

    /// - Parameter meters: those of the second that ends at a number from 1 to 60.
    func finished(
        from start: Timestamp, revision: Int64 = 5, meters: (Int) -> Double
    ) -> (workout: MQTTMessage, rows: [MQTTMessage]) {
        let session = Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: start, now: start)
        var workout = WorkoutRecord(session, metrics: nil, isComplete: true, revision: revision)
        workout.run = run
        workout.segments = [Segment(start: start, end: start + 60)]
        workout.activeDuration = 60
        workout.elapsedDuration = 60
        workout.distance = (1...60).map(meters).reduce(0, +)
        workout.summaries = ["metrics": revision]
        let rows = FinalRows(
            Series(
                times: (0...60).map { start + Double($0) },
                columns: [.init(quantity: .distance, values: (0...60).map { $0 == 0 ? 0 : meters($0) })]))
        let chunks = (0..<rows.chunkCount).map {
            Topic.session(key, .series($0)).message(rows.payload(number: $0, revision: revision))
        }
        let summary = Topic.session(key, .summaryMetrics)
            .message(Array(#"{"revision":\#(revision),"chunks":\#(rows.chunkCount)}"#.utf8))
        return (Topic.session(key, .workout).message(JSONCoding.encode(workout)), [summary] + chunks)
    }
}
