import Bus
import Testing
import Workouts

@testable import Dashboard

struct HomePageTests {
    @Test(arguments: [
        ("active", 14.0, "142 bpm"), ("active", 15, "-- bpm"), ("paused", 3600, "-- bpm"), ("completed", 1, "-- bpm"),
        ("saving", 1, "-- bpm"),
    ])
    func `a card shows a heart rate of the moment only`(status: String, age: Double, text: String) throws {
        let session = "0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07"
        let state =
            #"{"session":"\#(session)","user":"anna","revision":1,"status":"\#(status)","activity":"running","#
            + #""environment":"outdoor","name":"Outdoor Running","symbol":"s","healthKitActivityType":37,"mode":"watch","#
            + #""segments":[[0,null]],"laps":[],"units":"metric","streams":{},"isLive":true}"#
        let metrics = #"{"u":"anna","s":1,"c":1000000,"h":142.4,"lp":1,"n":1,"pa":false}"#
        let card = HomePage.Card(
            try SessionState(Array(state.utf8)), try MetricsSnapshot(Array(metrics.utf8)), nil, units: .metric,
            now: Timestamp(seconds: 1_000_000 + age))
        #expect(card.heartRate.text == text)
    }
}
