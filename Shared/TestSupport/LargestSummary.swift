import Foundation
package import Workouts

extension MetricsSummary {
    /// Sets bests, load, sources and sketch to the largest that there can be.
    package mutating func fill() throws {
        func decode<Value: Decodable>(_ text: String) throws -> Value {
            try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        }
        func list(_ entry: String, _ count: Int) -> String {
            "[" + [String](repeating: entry, count: count).joined(separator: ",") + "]"
        }
        let number = "12345678.123"
        let lengths = Activity.allCases.compactMap { $0.bestDistances?.lengths.count }.max() ?? 0
        let distance = list(#"{"m":21097.505,"s":\#(number),"t":\#(number)}"#, lengths)
        let power = list(#"{"s":3600,"w":1234.567,"t":\#(number)}"#, 5)
        let heartRate = list(#"{"s":1200,"bpm":123.456,"t":\#(number)}"#, 1)
        bests = try decode(#"{"distance":\#(distance),"power":\#(power),"heartRate":\#(heartRate)}"#)
        load = try decode(
            #"{"heartRate":\#(number),"normalizedPower":1234.567,"intensity":12.345,"stress":\#(number)}"#)
        let device = String(repeating: "x", count: 64)
        sources = try decode(
            list(
                #"{"quantity":"vertical_oscillation","device":"\#(device)","from":\#(number),"to":\#(number)}"#,
                CountedSource.limit))
        // A latitude and a longitude take six characters each; a backslash takes two bytes.
        sketch = String(repeating: "\\", count: 12 * RouteSummary.sketchLimit)
    }
}
