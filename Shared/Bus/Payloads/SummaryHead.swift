/// The part of a summary that names its chunks.
package struct SummaryHead: Decodable {
    package let revision: Int64
    package let chunks: Int
}
